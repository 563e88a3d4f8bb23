# METADATA
# title: Circuits
# description: When a target's circuit opens for a use case, and how far retries may go.
package spillway.circuits

# METADATA
# title: Settings
# description: The default figures, with those of the use case over them, and over all those of a standby.
# entrypoint: true
# labels:
#   id: circuits.settings
settings := object.union(object.union(data.config.circuits["default"], overrides), standby)

# METADATA
# title: Overrides
# description: A use case without figures of its own has the default ones.
# labels:
#   id: circuits.overrides.none
default overrides := {}

# METADATA
# title: Overrides
# description: The figures of the use case that differ from the default.
# labels:
#   id: circuits.overrides
overrides := data.config.circuits.use_cases[input.use_case]

# METADATA
# title: Standby
# description: Most targets are none.
# labels:
#   id: circuits.standby.none
default standby := {}

# METADATA
# title: Standby
# description: A target kept in reserve is what is left when all others failed, so its circuit is slower to give up.
# labels:
#   id: circuits.standby
standby := data.config.circuits.standby if data.targets[input.target].labels.standby in {"yes", "true"}
