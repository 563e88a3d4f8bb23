package spillway.access_test

import data.spillway.access

key := {"id": "k1", "name": "n", "tenant": "t", "plan": "paid", "use_cases": [], "language": "ja"}

test_a_key_gets_what_its_plan_has if {
	grants := access.grants with input as key
	grants == {
		"tenant": "t", "tenant_class": "paid", "audience": "paid", "max_priority": 8, "language": "ja",
		"use_cases": ["assistant", "batch", "static"],
	}
}

test_the_first_use_case_asked_for_is_the_default if {
	grants := access.grants with input as object.union(key, {"use_cases": ["batch", "assistant"]})
	grants.use_cases == ["batch", "assistant"]
}

test_a_free_key_gets_no_admin_use_case if {
	grants := access.grants with input as object.union(key, {"plan": "free", "use_cases": ["admin", "assistant"]})
	grants.use_cases == ["assistant"]
	grants.audience == "free"
}

test_a_key_without_a_known_use_case_gets_nothing if {
	not access.grants with input as object.union(key, {"plan": "free", "use_cases": ["admin"]})
}

test_an_unknown_plan_grants_nothing if {
	not access.grants with input as object.union(key, {"plan": "gold"})
}

test_other_languages_read_english if {
	grants := access.grants with input as object.union(key, {"language": "fr"})
	grants.language == "en"
}

test_only_admin_keys_read_as_admin if {
	{plan | some plan, bounds in data.config.access.plans; bounds.audience == "admin"} == {"admin"}
}
