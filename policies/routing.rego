# METADATA
# title: Routing
# description: Which targets to try for one request, in which order, and why not the others.
package spillway.routing

# METADATA
# title: Settings
# description: Weights, fit matrix, bonuses and limits of this package.
# labels:
#   id: routing.config
config := data.config.routing

# METADATA
# title: Plan
# description: The answer for one request; the engine adds the settings of each step.
# entrypoint: true
# labels:
#   id: routing.plan
plan := {
	"ranked": ranked,
	"excluded": out,
	"scores": {target[2]: target[4] | some target in candidates},
	"preferred": preferred,
	"no_target": object.get({0: "every target is excluded"}, count(ranked), ""),
	"limits": config.limits,
	"pause_before_vendor_switch_ms": config.pause_before_vendor_switch_ms,
	"allow_continuation": config.allow_continuation,
	"allow_hedge": config.allow_hedge,
} if {
	out := excluded
	candidates := [target |
		some target in scored
		not out[target[2]]
	]
	ranked := [target[2] | some target in array.reverse(sort(candidates))]
}

# METADATA
# title: Preferred
# description: The first of the ranking if every target had its nominal figures and none were held.
# labels:
#   id: routing.preferred.none
default preferred := ""

# METADATA
# title: Preferred
# description: The first of the ranking if every target had its nominal figures and none were held.
# labels:
#   id: routing.preferred
preferred := max([target[3] | some target in scored])[2]

# METADATA
# title: Scored
# description: |
#   Every target that is able to serve the request, held or not, as
#   [total, -order, id, [nominal total, -order, id], terms]. The arithmetic is in integers:
#   tens of tokens times cents per million tokens, over 100,000, are hundredths of a dollar.
# labels:
#   id: routing.scored
scored := [target |
	request := input.request
	table := rows
	cannot := unable
	task := request.task
	need := request.input_tokens + request.max_tokens
	tens := (request.input_tokens + 9 - ((request.input_tokens + 9) % 10)) / 10
	thrift := config.weights.cost[request.quality] * 100000
	affinity := object.get(bonus.affinity, request.affinity_target, bonus.affinity[""])
	named := object.get(bonus.named, request.target, bonus.named[""])

	some [id, behind, context, cents, fits, success, latency, nominal] in table
	context >= need
	not cannot[id]
	divisor := 100000 + (tens * cents)
	cost := (thrift - (thrift % divisor)) / divisor
	fit := fits[task]
	loyal := affinity[id]
	asked := named[id]
	target := [
		sum([success, latency, cost, fit, loyal, asked]),
		behind, id,
		[sum([nominal, cost, fit, loyal, asked]), behind, id],
		{"success": success, "latency": latency, "cost": cost, "fit": fit, "affinity": loyal, "named": asked},
	]
]

# METADATA
# title: Rows
# description: What scoring reads of each target, for the request's latency budget.
# labels:
#   id: routing.rows.prepared
rows := ready if {
	ready := prepared[modes[input.request.stream]][input.request.latency_budget_ms]
} else := rows_for(modes[input.request.stream], input.request.latency_budget_ms)

# METADATA
# title: Forced out
# description: The target that a drill or a forced fallback passes by.
# labels:
#   id: routing.forced_out
forced_out[preferred] if {
	true in [input.request.drill, input.request.force_fallback]
	preferred != ""
}

# METADATA
# title: Excluded
# description: Every target that is no candidate, with all its reasons.
# labels:
#   id: routing.excluded.held
excluded[id] contains reason if {
	some id, reasons in object.get(held, input.request.use_case, {})
	some reason in reasons
}

# METADATA
# title: Excluded
# description: The use case or a need of the request rules the target out.
# labels:
#   id: routing.excluded.unable
excluded[id] contains reason if {
	some id, reasons in unable
	some reason in reasons
}

# METADATA
# title: Excluded
# description: The request and its answer don't fit in the target's context.
# labels:
#   id: routing.excluded.context
excluded[id] contains "context_too_small" if {
	need := input.request.input_tokens + input.request.max_tokens
	need > smallest_context
	some id, target in data.targets
	target.context_tokens < need
}

# METADATA
# title: Excluded
# description: A drill or a forced fallback passes the preferred target by.
# labels:
#   id: routing.excluded.forced
excluded[id] contains "forced_fallback" if some id, _ in forced_out

# METADATA
# title: Excluded
# description: A target in reserve stays there while another is left, unless the request names it.
# labels:
#   id: routing.excluded.standby
excluded[id] contains "standby" if {
	some id in standby
	id != input.request.target
	ordinary_left
}

# METADATA
# title: Ordinary left
# description: A target that is no standby can serve the request now.
# labels:
#   id: routing.ordinary_left
ordinary_left if {
	out := object.get(held, input.request.use_case, {})
	passed := forced_out
	some target in scored
	id := target[2]
	not id in standby
	not out[id]
	not passed[id]
}

# METADATA
# title: Unable
# description: Targets that the use case does not use, or that lack what the request needs.
# labels:
#   id: routing.unable.use_case
unable[id] contains "not_served" if {
	some id in unserved[input.request.use_case]
}

# METADATA
# title: Unable
# description: Targets that the use case does not use, or that lack what the request needs.
# labels:
#   id: routing.unable.need
unable[id] contains reason if {
	needs := input.request.needs
	true in needs
	some need, true in needs
	reason := concat("", ["needs_", need])
	some id in lacking[need]
}

# The rules below don't read the request: they are evaluated once per snapshot.

# METADATA
# title: Held
# description: Per use case, the targets that live state takes out, with the reasons.
# labels:
#   id: routing.held
held[use_case] := {id: reasons |
	some id, live in data.live
	reasons := holds(live, use_case)
	count(reasons) > 0
} if {
	some use_case, _ in data.level
}

# METADATA
# title: Holds
# description: Why live state takes one target out for one use case.
# labels:
#   id: routing.holds
holds(live, use_case) := {reason |
	some reason, true in {
		"open_circuit": live.circuit[use_case] == "open",
		"cooling_down": live.cooling_down,
		"unhealthy": live.healthy == false,
	}
}

# METADATA
# title: Modes
# description: Streamed requests are scored on their first content, others on the whole.
# labels:
#   id: routing.modes
modes := {true: "first", false: "total"}

# METADATA
# title: Prepared
# description: The rows of the latency budgets that most requests have.
# labels:
#   id: routing.prepared
prepared[mode][budget] := rows_for(mode, budget) if {
	some mode in ["total", "first"]
	some budget in config.prepared_budgets_ms
}

# METADATA
# title: Rows for a budget
# description: |
#   Per target [id, -order, context, price, fit by task, success, latency, nominal success and latency].
# labels:
#   id: routing.rows_for
rows_for(mode, budget) := [row |
	some id, target in fixed
	live := data.live[id]
	row := [
		id, target.behind, target.context, target.cents, target.fit,
		live.success_permille * config.weights.success,
		latency(live[waits[mode]], budget),
		target.success + latency(target.wait_ms, budget),
	]
]

# METADATA
# title: Latency
# description: The full weight for an answer at once, none for one that takes the whole budget.
# labels:
#   id: routing.latency
latency(wait_ms, budget) := max([0, weight - ((share - (share % whole)) / whole)]) if {
	weight := config.weights.latency
	whole := max([1, budget])
	share := wait_ms * weight
}

# METADATA
# title: Waits
# description: The live figure that each mode is scored on.
# labels:
#   id: routing.waits
waits := {"total": "p95_ms", "first": "first_token_p95_ms"}

# METADATA
# title: Fixed
# description: What scoring reads of each target, without live figures.
# labels:
#   id: routing.fixed
fixed[id] := {
	"behind": 0 - target.order,
	"context": target.context_tokens,
	"cents": cents(target.price),
	"fit": {task: points |
		some task in config.tasks
		points := object.get(config.fit, [target.family, task], config.fit_unknown) * config.weights.fit
	},
	"success": (config.nominal.success_permille * config.weights.success) - set_back(id),
	"wait_ms": object.get(config.nominal.p95_ms, target.family, config.nominal.p95_unknown_ms),
} if {
	some id, target in data.targets
}

# METADATA
# title: Standby
# description: The targets that are labelled as a reserve for when all others are out.
# labels:
#   id: routing.standby
standby contains id if {
	some id, target in data.targets
	target.labels.standby in {"yes", "true"}
}

# METADATA
# title: Set back
# description: How far behind all others a standby is at nominal figures, so that it is not the preferred one.
# labels:
#   id: routing.set_back
set_back(id) := config.standby_set_back if {
	id in standby
} else := 0

# METADATA
# title: Cents
# description: The input price in cents per million tokens; an unknown price counts as a high one.
# labels:
#   id: routing.cents
cents(price) := config.price_unknown_cents if {
	price.as_of == ""
} else := round(price.input / 10000)

# METADATA
# title: Smallest context
# description: The smallest context of all targets, in tokens.
# labels:
#   id: routing.smallest_context
smallest_context := min({target.context_tokens | some target in data.targets})

# METADATA
# title: Lacking
# description: Per need, the targets that can't serve it.
# labels:
#   id: routing.lacking
lacking[need] contains id if {
	some id, target in data.targets
	some need, false in target.capabilities
}

# METADATA
# title: Unserved
# description: Per use case, the targets that it does not use.
# labels:
#   id: routing.unserved
unserved[use_case.id] contains id if {
	some use_case in data.config.use_cases
	count(use_case.targets) > 0
	some id, _ in data.targets
	not id in use_case.targets
}

# METADATA
# title: Bonus
# description: "Tables of the bonus that each target gets when another, or none, is favoured: a look-up per target."
# labels:
#   id: routing.bonus
bonus[kind][favoured] := {id: points(id, favoured, most) | some id, _ in data.targets} if {
	some kind, most in config.bonus
	some favoured in favourites
}

# METADATA
# title: Favourites
# description: The targets that a request may favour, and none.
# labels:
#   id: routing.favourites
favourites := {id | some id, _ in data.targets} | {""}

# METADATA
# title: Points
# description: The bonus if the target is the favoured one.
# labels:
#   id: routing.points
points(id, favoured, most) := most if {
	id == favoured
} else := 0
