# METADATA
# title: Tiers
# description: The recovery objectives of a use case, and what happens to a request in an outage.
package spillway.tiers

# METADATA
# title: Tier
# description: The figures of the use case; one without figures of its own has the default ones.
# entrypoint: true
# labels:
#   id: tiers.tier
tier := object.get(data.config.tiers.use_cases, input.use_case, data.config.tiers["default"])
