package spillway.tiers_test

import data.spillway.tiers

of(use_case) := tier if {
	tier := tiers.tier with input as {"use_case": use_case, "level": "degraded"}
}

test_payments_lose_nothing if {
	of("payments").rto_s == 300
	of("payments").rpo_s == 0
	of("payments").outage == "queue"
}

test_batches_are_queued_below_a_priority if {
	of("batch").rto_s == 3600
	of("batch").rpo_s == 3600
	of("batch").queue_below == 7
}

test_chats_end_gracefully if {
	of("assistant").rto_s == 900
	of("assistant").rpo_s == -1
	of("assistant").outage == "graceful"
}

test_static_content_is_static if {
	of("static").rto_s == 30
	of("static").outage == "static"
}

test_others_are_refused if of("another").outage == "refuse"
