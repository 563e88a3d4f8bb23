package spillway.disclosure_test

import data.spillway.disclosure

to(audience, situation, language) := answer if {
	answer := disclosure.disclose with input as {
		"use_case": "assistant", "audience": audience, "situation": situation, "language": language,
	}
}

test_free_callers_are_told_nothing if {
	every situation, _ in data.config.disclosure.texts.en {
		to("free", situation, "en") == {"detail": "none", "text": "", "alias_model": false}
	}
}

test_paid_callers_are_told_the_target if {
	answer := to("paid", "fallback", "en")
	answer.detail == "target"
	answer.text == "now on {target} (normally {preferred})"
}

test_admins_are_told_everything if to("admin", "none", "en").detail == "admin"

test_nothing_to_say_is_no_text if to("paid", "none", "en").text == ""

test_unknown_audiences_are_told_nothing if to("root", "fallback", "en").detail == "none"

test_every_situation_has_a_text_in_every_language if {
	every situation, _ in data.config.disclosure.texts.en {
		every language in ["en", "ja"] {
			is_string(data.config.disclosure.texts[language][situation])
		}
	}
}
