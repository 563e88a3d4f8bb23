package spillway.limits_test

import data.spillway.limits

targets := {
	"o": {"family": "opus", "quota_group": "g"}, "s": {"family": "sonnet", "quota_group": "g"},
	"h": {"family": "haiku", "quota_group": "g"}, "p": {"family": "sol", "quota_group": "g"},
	"l": {"family": "luna", "quota_group": "g"}, "x": {"family": "novel", "quota_group": "g"},
}

of(scope, name, id) := answer if {
	answer := limits.limits with input as {"scope": scope, name: id} with data.targets as targets
}

changed(scope, name, id, changes) := answer if {
	answer := limits.limits with input as {"scope": scope, name: id} with data.targets as targets
		with data.config.limits as object.union(data.config.limits, changes)
}

test_concurrency_by_family[target] if {
	some target, most in {"o": 20, "s": 40, "p": 40, "h": 60, "l": 80, "x": 40}
	got := of("target", "target", target)
	got.concurrency == {"limit": most, "queue": 100, "max_wait_ms": 5000}
	got.rate.output_tokens_per_minute == 0
}

test_a_quota_group_has_800_000_output_tokens_a_minute if {
	of("quota_group", "quota_group", "g").rate.output_tokens_per_minute == 800000
}

test_callers_are_not_limited if {
	every input_of in [of("use_case", "use_case", "batch"), of("key", "plan", "free")] {
		input_of.rate.requests_per_minute == 0
		input_of.rate.tokens_per_minute == 0
		input_of.spend == {
			"usd_per_day": 0, "usd_per_month": 0,
			"fallback_usd_per_million_input": 0, "fallback_usd_per_million_output": 0,
		}
		input_of.max_output_tokens == 0
	}
}

test_own_figures_win if {
	target := changed("target", "target", "o", {"target": {"targets": {"o": {"concurrency": {"limit": 5}}}}})
	target.concurrency == {"limit": 5, "queue": 100, "max_wait_ms": 5000}
	group := changed("quota_group", "quota_group", "g", {"quota_group": {"quota_groups": {"g": {"rate": {"requests_per_minute": 7}}}}})
	group.rate.requests_per_minute == 7
	group.rate.output_tokens_per_minute == 800000
	use_case := changed("use_case", "use_case", "batch", {"caller": {"use_cases": {"batch": {"spend": {"usd_per_day": 3}}}}})
	use_case.spend.usd_per_day == 3
	key := changed("key", "plan", "free", {"caller": {"plans": {"free": {"max_output_tokens": 4096}}}})
	key.max_output_tokens == 4096
}

# A plan and a use case of the same name don't share figures.
test_scopes_are_apart if {
	changes := {"caller": {"plans": {"batch": {"max_output_tokens": 1}}}}
	changed("use_case", "use_case", "batch", changes).max_output_tokens == 0
}
