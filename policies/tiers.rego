# METADATA
# title: Tiers
# description: The recovery objectives of a use case, and what happens to a request in an outage.
package spillway.tiers

# METADATA
# title: Tier
# description: A use case without a tier of its own has the default one, which refuses.
# labels:
#   id: tiers.default
default tier := {"name": "refuse", "rto_s": 900, "rpo_s": -1, "outage": "refuse", "queue_below": 0}

# METADATA
# title: Tier
# description: The figures of the use case, or the default ones.
# entrypoint: true
# labels:
#   id: tiers.tier
tier := object.get(data.config.tiers.use_cases, input.use_case, data.config.tiers["default"])
