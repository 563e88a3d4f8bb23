package spillway.circuits_test

import data.spillway.circuits

of(use_case) := settings if {
	settings := circuits.settings with input as {"use_case": use_case, "target": "any"}
}

# Failures, window and open time in seconds, and the retry budget, by use case.
figures := {
	"assistant": [7, 30, 30, 600, 0.3],
	"batch": [3, 60, 120, 500, 0.25],
	"admin": [10, 60, 60, 500, 0.25],
	"payments": [5, 60, 30, 200, 0.1],
	"another": [5, 60, 30, 500, 0.25],
}

test_figures[use_case] if {
	some use_case, [failures, window, open, capacity, refund] in figures
	got := of(use_case)
	got.failure_threshold == failures
	got.window_ms == window * 1000
	got.open_for_ms == open * 1000
	got.budget == {"capacity": capacity, "refund": refund}
}

test_what_all_share if {
	every use_case, _ in figures {
		got := of(use_case)
		got.error_rate_permille == 500
		got.min_calls == 10
		got.half_open_permits == 3
		got.success_threshold == 2
		got.slow_call_ms == 0
		got.slow_rate_permille == 0
	}
}

test_a_standby_is_slower_in_every_use_case if {
	every word in ["yes", "true"] {
		every use_case, figure in figures {
			got := circuits.settings with input as {"use_case": use_case, "target": "spare"}
				with data.targets as {"spare": {"labels": {"standby": word}}}
			got.failure_threshold == 10
			got.window_ms == 60000
			got.min_calls == 20
			got.open_for_ms == 60000
			got.budget == {"capacity": figure[3], "refund": figure[4]}
		}
	}
}

test_other_labels_change_nothing if {
	got := circuits.settings with input as {"use_case": "assistant", "target": "plain"}
		with data.targets as {"plain": {"labels": {"standby": "no", "team": "core"}}}
	got == of("assistant")
}
