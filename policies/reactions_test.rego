package spillway.reactions_test

import data.spillway.reactions

to(use_case, kind) := reaction if {
	reaction := reactions.reaction with input as {
		"use_case": use_case, "kind": kind, "repeated": false, "after_content": false,
	}
}

transient := ["timeout_first_content", "timeout_idle", "overloaded", "server_error", "stream_cut", "stream_error"]

test_assistants_change_target_at_once if {
	every kind in transient {
		to("assistant", kind).retries == 0
		to("assistant", kind).pause_ms == 0
		to("assistant", kind).next != "none"
	}
}

test_assistants_repeat_connections_once if {
	every kind in ["connect", "timeout_connect"] {
		to("assistant", kind).retries == 1
		to("assistant", kind).schedule == "connect"
		to("assistant", kind).next == "other_vendor_first"
	}
}

test_batches_repeat_and_pause if {
	every kind in transient {
		to("batch", kind).retries == 2
		to("batch", kind).pause_ms == 30000
	}
}

test_an_overloaded_vendor_has_its_own_schedule if {
	to("batch", "overloaded").schedule == "overloaded"
	to("batch", "overloaded").next == "other_vendor_first"
}

test_throttled_requests_wait_or_answer if {
	to("assistant", "rate_limited").max_inline_wait_ms == 5000
	to("batch", "rate_limited").max_inline_wait_ms == 60000
	to("assistant", "rate_limited").retries == 1
	to("assistant", "rate_limited").next == "none"
}

test_only_throttling_waits_inline if {
	every kind in transient {
		to("batch", kind).max_inline_wait_ms == 0
	}
}

test_the_callers_mistakes_stop if {
	every kind in ["invalid_request", "context_exceeded", "too_large", "not_found", "refused_by_model", "caller_gone", "timeout_whole"] {
		to("batch", kind).retries == 0
		to("batch", kind).next == "none"
	}
}

test_another_account_or_target_may_serve if {
	every kind in ["auth_provider", "billing", "quota_exhausted", "not_portable", "open_circuit", "cooling_down", "budget_empty"] {
		to("assistant", kind).retries == 0
		to("assistant", kind).pause_ms == 0
		to("assistant", kind).next == "any"
	}
}

test_nothing_follows_first_content if {
	every kind, _ in data.config.reactions.kinds {
		reaction := reactions.reaction with input as {
			"use_case": "batch", "kind": kind, "repeated": false, "after_content": true,
		}
		reaction.retries == 0
		reaction.next == "none"
	}
}

test_retries_are_capped if {
	reaction := reactions.reaction with input as {"use_case": "batch", "kind": "connect", "repeated": true, "after_content": false}
		with data.config.reactions.use_cases.batch.connect_retries as 9
	reaction.retries == 3
}
