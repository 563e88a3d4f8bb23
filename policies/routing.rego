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
	"excluded": excluded,
	"scores": scores,
	"preferred": preferred,
	"no_target": no_target,
	"limits": config.limits,
	"pause_before_vendor_switch_ms": config.pause_before_vendor_switch_ms,
	"allow_continuation": config.allow_continuation,
	"allow_hedge": config.allow_hedge,
}

# METADATA
# title: Ranked
# description: The candidates, best first; equal ones in the order of the configuration.
# labels:
#   id: routing.ranked
ranked := [candidate[2] | some candidate in array.reverse(sort(candidates))]

# METADATA
# title: Scores
# description: Each candidate's score by term, in thousandths of a point.
# labels:
#   id: routing.scores
scores := {candidate[2]: candidate[3] | some candidate in candidates}

# METADATA
# title: Candidates
# description: "The scored targets that may be tried now, as [total, -order, id, terms]."
# labels:
#   id: routing.candidates
candidates := [[target[3], target[1], target[2], target[4]] |
	holds := held_now
	out := forced_out
	some target in scored
	not holds[target[2]]
	target[2] != out
]

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
preferred := max(scored)[2]

# METADATA
# title: Scored
# description: |
#   Every target that is able to serve the request, held or not, as
#   [nominal total, -order, id, live total, live terms]. The arithmetic is in integers:
#   tens of tokens times cents per million tokens over 100,000 is a hundredth of a dollar.
# labels:
#   id: routing.scored
scored := [target |
	request := input.request
	table := rows
	cannot := unable
	mode := wait_mode
	task := request.task
	budget := max([1, request.latency_budget_ms])
	need := request.input_tokens + request.max_tokens
	tens := (request.input_tokens + 9 - ((request.input_tokens + 9) % 10)) / 10
	speed := config.weights.latency
	thrift := cost_weight * 100000
	affinity := object.get(bonus.affinity, request.affinity_target, bonus.affinity[""])
	named := object.get(bonus.named, request.target, bonus.named[""])

	some row in table
	row.context >= need
	not cannot[row.id]
	id := row.id
	fit := row.fit[task]
	wait := row.wait[mode]
	latency := max([0, speed - ((wait - (wait % budget)) / budget)])
	expected := max([0, speed - ((row.nominal_wait - (row.nominal_wait % budget)) / budget)])
	divisor := 100000 + (tens * row.cents)
	cost := (thrift - (thrift % divisor)) / divisor
	loyal := affinity[id]
	asked := named[id]
	target := [
		sum([row.nominal_success, expected, cost, fit, loyal, asked]),
		row.behind, id,
		sum([row.success, latency, cost, fit, loyal, asked]),
		{"success": row.success, "latency": latency, "cost": cost, "fit": fit, "affinity": loyal, "named": asked},
	]
]

# METADATA
# title: Cost weight
# description: The weight of the price, higher when the caller asks for cheap answers.
# labels:
#   id: routing.cost_weight.default
default cost_weight := 0

# METADATA
# title: Cost weight
# description: The weight of the price, higher when the caller asks for cheap answers.
# labels:
#   id: routing.cost_weight
cost_weight := config.weights.cost_first if {
	input.request.quality == "cost"
} else := config.weights.cost

# METADATA
# title: Wait mode
# description: Streamed requests are scored on their first content.
# labels:
#   id: routing.wait_mode
default wait_mode := "total"

# METADATA
# title: Wait mode
# description: Streamed requests are scored on their first content.
# labels:
#   id: routing.wait_mode.stream
wait_mode := "first" if input.request.stream

# METADATA
# title: Forced out
# description: The target that a drill or a forced fallback passes by.
# labels:
#   id: routing.forced_out.none
default forced_out := ""

# METADATA
# title: Forced out
# description: The target that a drill or a forced fallback passes by.
# labels:
#   id: routing.forced_out
forced_out := preferred if forced

# METADATA
# title: Forced
# description: Whether the request must take a fallback.
# labels:
#   id: routing.forced.default
default forced := false

# METADATA
# title: Forced
# description: Whether the request must take a fallback.
# labels:
#   id: routing.forced.request
forced if input.request.force_fallback

# METADATA
# title: Forced
# description: Whether the request must take a fallback.
# labels:
#   id: routing.forced.drill
forced if input.request.drill

# METADATA
# title: Excluded
# description: Every target that is no candidate, with all its reasons.
# labels:
#   id: routing.excluded.held
excluded[id] contains reason if {
	some id, reasons in held_now
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
	some row in rows
	row.context < need
	id := row.id
}

# METADATA
# title: Excluded
# description: A drill or a forced fallback passes the preferred target by.
# labels:
#   id: routing.excluded.forced
excluded[forced_out] contains "forced_fallback" if forced_out != ""

# METADATA
# title: No target
# description: Why there is no candidate, empty when there is one.
# labels:
#   id: routing.no_target.none
default no_target := ""

# METADATA
# title: No target
# description: Why there is no candidate, empty when there is one.
# labels:
#   id: routing.no_target.unable
no_target := "no_target_able" if {
	count(scored) == 0
} else := "every_target_held" if {
	count(candidates) == 0
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
	some need, true in input.request.needs
	reason := concat("", ["needs_", need])
	some id in lacking[need]
}

# METADATA
# title: Held now
# description: Targets that live state takes out for this use case, with the reasons.
# labels:
#   id: routing.held_now.none
default held_now := {}

# METADATA
# title: Held now
# description: Targets that live state takes out for this use case, with the reasons.
# labels:
#   id: routing.held_now
held_now := held[input.request.use_case]

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
# title: Rows
# description: What scoring reads of each target, live figures included.
# labels:
#   id: routing.rows
rows := [object.union(row, {
	"success": live.success_permille * config.weights.success,
	"wait": {
		"total": live.p95_ms * config.weights.latency,
		"first": live.first_token_p95_ms * config.weights.latency,
	},
}) |
	some id, row in fixed
	live := data.live[id]
]

# METADATA
# title: Fixed
# description: What scoring reads of each target, without live figures.
# labels:
#   id: routing.fixed
fixed[id] := {
	"id": id,
	"behind": 0 - target.order,
	"context": target.context_tokens,
	"cents": cents(target.price),
	"fit": {task: points |
		some task in config.tasks
		points := object.get(config.fit, [target.family, task], config.fit_unknown) * config.weights.fit
	},
	"nominal_success": config.nominal.success_permille * config.weights.success,
	"nominal_wait": object.get(config.nominal.p95_ms, target.family, config.nominal.p95_unknown_ms) *
		config.weights.latency,
} if {
	some id, target in data.targets
}

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
