# METADATA
# title: Access
# description: What one caller's key may ask for.
package spillway.access

# METADATA
# title: Grants
# description: |
#   Nothing is granted to a key whose plan is not known, or none of whose use cases the plan has:
#   grants stays undefined, and the key is refused where it is made.
# entrypoint: true
# labels:
#   id: access.grants
grants := {
	"tenant": input.tenant,
	"tenant_class": plan.tenant_class,
	"audience": plan.audience,
	"use_cases": use_cases,
	"max_priority": plan.max_priority,
	"language": language,
} if {
	count(use_cases) > 0
}

# METADATA
# title: Plan
# description: The bounds of the key's plan.
# labels:
#   id: access.plan
plan := data.config.access.plans[input.plan]

# METADATA
# title: Use cases
# description: Those that the key names, in its order, as far as its plan has them.
# labels:
#   id: access.use_cases
use_cases := plan.use_cases if {
	count(input.use_cases) == 0
} else := [use_case | some use_case in input.use_cases; use_case in plan.use_cases]

# METADATA
# title: Language
# description: The key's language if there are texts in it.
# labels:
#   id: access.language.first
default language := "en"

# METADATA
# title: Language
# description: The key's language if there are texts in it.
# labels:
#   id: access.language
language := input.language if input.language in data.config.access.languages
