package spillway.routing_test

import data.spillway.routing

able := {"tools": true, "images": true, "documents": true, "json_schema": true, "thinking": true, "prefill": true}

target(order, family, context, input_price) := {
	"order": order, "provider": "p", "model": family, "vendor": "v", "family": family, "quota_group": "p",
	"context_tokens": context, "max_output_tokens": 0, "node_count": 1, "labels": {},
	"capabilities": able, "price": {"input": input_price, "as_of": "2026-11-01"},
}

targets := {
	"opus": target(0, "opus", 200000, 15000000),
	"sonnet": target(1, "sonnet", 200000, 3000000),
	"haiku": target(2, "haiku", 16000, 1000000),
}

figures(p95) := {
	"circuit": {"assistant": "closed", "batch": "closed"}, "budget_permille": {"assistant": 1000, "batch": 1000},
	"success_permille": 1000, "p95_ms": p95, "first_token_p95_ms": p95, "requests_per_minute": 0, "in_flight": 0,
	"cooling_down": false, "healthy": true, "overridden": false,
}

live := {"opus": figures(3000), "sonnet": figures(1200), "haiku": figures(500)}

level := {"assistant": "healthy", "batch": "healthy"}

request := {
	"use_case": "assistant", "task": "code", "priority": 5, "audience": "paid", "quality": "balanced",
	"latency_budget_ms": 5000, "input_tokens": 2000, "max_tokens": 1000, "stream": false, "model": "", "target": "",
	"tenant_class": "paid", "drill": false, "force_fallback": false, "language": "en", "affinity_target": "",
	"needs": {"tools": false, "images": false, "documents": false, "json_schema": false, "thinking": false, "prefill": false},
}

# plan is what routing answers to the request with changes, when the live
# figures of some targets are changed.
plan(changes, moved) := answer if {
	answer := routing.plan with input as {"request": object.union(request, changes)}
		with data.targets as targets
		with data.live as object.union(live, moved)
		with data.level as level
}

total(terms) := sum([points | some points in terms])

test_score_of_the_source_formula if {
	total(plan({}, {}).scores.sonnet) == 88375
}

test_terms_of_the_source_formula if {
	plan({}, {}).scores.sonnet == {
		"success": 30000, "latency": 19000, "cost": 9375, "fit": 30000, "affinity": 0, "named": 0,
	}
}

test_best_first if plan({}, {}).ranked == ["sonnet", "haiku", "opus"]

test_simple_tasks_go_to_the_small_model if plan({"task": "simple"}, {}).ranked[0] == "haiku"

test_cheap_answers_weigh_the_price_more if {
	plan({"quality": "cost"}, {}).scores.haiku.cost > plan({}, {}).scores.haiku.cost
}

test_streams_are_scored_on_first_content if {
	quick := object.union(figures(9000), {"first_token_p95_ms": 0})
	answer := plan({"stream": true}, {"opus": quick})
	answer.scores.opus.latency == 25000
}

test_an_unprepared_budget_counts_the_same_way if {
	plan({"latency_budget_ms": 10000}, {}).scores.sonnet.latency == 22000
}

test_slower_than_the_budget_is_no_penalty if {
	plan({"latency_budget_ms": 400}, {}).scores.opus.latency == 0
}

test_an_open_circuit_is_excluded if {
	answer := plan({}, {"sonnet": {"circuit": {"assistant": "open"}}})
	answer.excluded == {"sonnet": {"open_circuit"}}
	answer.preferred == "sonnet"
	answer.ranked == ["haiku", "opus"]
}

test_a_circuit_of_another_use_case_does_not_matter if {
	plan({}, {"sonnet": {"circuit": {"batch": "open"}}}).excluded == {}
}

test_a_half_open_circuit_is_a_candidate if {
	plan({}, {"sonnet": {"circuit": {"assistant": "half_open"}}}).ranked[0] == "sonnet"
}

test_every_reason_is_named if {
	held := {"circuit": {"assistant": "open"}, "cooling_down": true, "healthy": false}
	plan({}, {"opus": held}).excluded.opus == {"open_circuit", "cooling_down", "unhealthy"}
}

test_context_counts_the_answer if {
	plan({"input_tokens": 15000, "max_tokens": 1000}, {}).excluded == {}
	plan({"input_tokens": 15000, "max_tokens": 1100}, {}).excluded == {"haiku": {"context_too_small"}}
}

test_what_can_not_serve_is_not_preferred if {
	plan({"task": "simple", "input_tokens": 17000}, {}).preferred == "sonnet"
}

test_needs_are_named if {
	answer := routing.plan with input as {"request": object.union(request, {"needs": {"images": true}})}
		with data.targets as object.union(targets, {"haiku": {"capabilities": {"images": false}}})
		with data.live as live
		with data.level as level
	answer.excluded == {"haiku": {"needs_images"}}
}

test_a_use_case_may_leave_targets_out if {
	answer := routing.plan with input as {"request": request}
		with data.targets as targets
		with data.live as live
		with data.level as level
		with data.config.use_cases as [{"id": "assistant", "targets": ["opus", "haiku"]}]
	answer.excluded == {"sonnet": {"not_served"}}
}

test_a_drill_passes_the_preferred_by if {
	every changes in [{"drill": true}, {"force_fallback": true}] {
		answer := plan(changes, {})
		answer.preferred == "sonnet"
		answer.excluded == {"sonnet": {"forced_fallback"}}
		answer.ranked == ["haiku", "opus"]
	}
}

test_a_conversation_stays if {
	plan({"affinity_target": "haiku"}, {}).ranked[0] == "haiku"
	plan({"affinity_target": "haiku"}, {"haiku": {"cooling_down": true}}).ranked[0] == "sonnet"
}

test_a_forgotten_target_is_no_trouble if {
	plan({"affinity_target": "gone"}, {}).ranked == plan({}, {}).ranked
}

test_a_named_model_comes_first if {
	answer := plan({"model": "opus", "target": "opus"}, {})
	answer.ranked[0] == "opus"
	answer.preferred == "opus"
}

test_an_unknown_price_is_not_free if {
	answer := routing.plan with input as {"request": request}
		with data.targets as object.union(targets, {"haiku": {"price": {"input": 0, "as_of": ""}}})
		with data.live as live
		with data.level as level
	answer.scores.haiku.cost < 100
}

test_equal_scores_keep_the_configured_order if {
	answer := routing.plan with input as {"request": request}
		with data.targets as {"b": target(0, "x", 9000, 1), "a": target(1, "x", 9000, 1)}
		with data.live as {"a": figures(100), "b": figures(100)}
		with data.level as level
	answer.ranked == ["b", "a"]
}

# reserved is the answer when opus is a standby, with changes to the request and
# to live figures.
reserved(changes, moved) := answer if {
	answer := routing.plan with input as {"request": object.union(request, changes)}
		with data.targets as object.union(targets, {"opus": {"labels": {"standby": "yes"}}})
		with data.live as object.union(live, moved)
		with data.level as level
}

out_of_service := {"sonnet": {"circuit": {"assistant": "open"}}, "haiku": {"cooling_down": true}}

test_a_standby_stays_in_reserve if {
	answer := reserved({}, {})
	answer.ranked == ["sonnet", "haiku"]
	answer.excluded == {"opus": {"standby"}}
	object.keys(answer.scores) == {"sonnet", "haiku"}
}

test_a_standby_serves_when_no_other_is_left if {
	answer := reserved({}, out_of_service)
	answer.ranked == ["opus"]
	answer.preferred == "sonnet"
	answer.no_target == ""
}

test_a_standby_waits_for_the_last_other if {
	reserved({}, {"sonnet": {"healthy": false}}).ranked == ["haiku"]
	reserved({}, {"sonnet": {"healthy": false}, "haiku": {"circuit": {"assistant": "half_open"}}}).ranked == ["haiku"]
}

test_a_standby_serves_what_no_other_can if {
	reserved({"input_tokens": 17000}, {"sonnet": {"healthy": false}}).ranked == ["opus"]
	answer := routing.plan with input as {"request": request}
		with data.targets as object.union(targets, {"opus": {"labels": {"standby": "true"}}})
		with data.live as live
		with data.level as level
		with data.config.use_cases as [{"id": "assistant", "targets": ["opus"]}]
	answer.ranked == ["opus"]
	answer.preferred == "opus"
}

test_a_standby_that_is_out_too_is_no_target if {
	answer := reserved({}, object.union(out_of_service, {"opus": {"circuit": {"assistant": "open"}}}))
	answer.ranked == []
	answer.excluded.opus == {"open_circuit"}
}

test_a_named_standby_serves if {
	answer := reserved({"model": "opus", "target": "opus"}, {})
	answer.ranked == ["opus", "sonnet", "haiku"]
	answer.preferred == "opus"
}

test_a_conversation_leaves_the_standby if {
	reserved({"affinity_target": "opus"}, {}).ranked == ["sonnet", "haiku"]
}

test_a_drill_reaches_the_standby if {
	reserved({"drill": true}, {"haiku": {"healthy": false}}).ranked == ["opus"]
}

test_no_target_says_why if {
	gone := {"healthy": false}
	answer := plan({}, {"opus": gone, "sonnet": gone, "haiku": gone})
	answer.ranked == []
	answer.no_target != ""
	answer.preferred == "sonnet"
	count(answer.excluded) == 3
}

test_limits_of_a_request if {
	plan({}, {}).limits == {
		"max_hops": 3, "max_attempts": 4, "total_ms": 600000,
		"first_content_ms": 30000, "next_content_ms": 15000, "idle_ms": 30000,
	}
}
