# METADATA
# title: Limits
# description: How much may go to a target and a quota group, and how much a use case and a caller's key may use.
package spillway.limits

# METADATA
# title: Limits
# description: The default figures of what input.scope names, with its own figures over them. 0 is no limit.
# entrypoint: true
# labels:
#   id: limits.limits
limits := object.union(object.union(kind["default"], family), own)

# METADATA
# title: Kind
# description: A key and a use case have the same default figures.
# labels:
#   id: limits.kind
kind := data.config.limits.caller if {
	input.scope in {"key", "use_case"}
} else := data.config.limits[input.scope]

# METADATA
# title: Family
# description: Only targets have a family, and not every family has figures.
# labels:
#   id: limits.family.none
default family := {}

# METADATA
# title: Family
# description: The figures of the target's family.
# labels:
#   id: limits.family
family := kind.families[data.targets[input.target].family]

# METADATA
# title: Own figures
# description: What has none of its own has the default ones.
# labels:
#   id: limits.own.none
default own := {}

# METADATA
# title: Own figures
# description: Those of the target, the quota group, the use case or the key's plan.
# labels:
#   id: limits.own
own := kind.targets[input.target] if {
	input.scope == "target"
} else := kind.quota_groups[input.quota_group] if {
	input.scope == "quota_group"
} else := kind.use_cases[input.use_case] if {
	input.scope == "use_case"
} else := kind.plans[input.plan]
