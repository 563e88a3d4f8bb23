# METADATA
# title: Disclosure
# description: What one audience is told about a situation.
package spillway.disclosure

# METADATA
# title: Disclose
# description: Whoever is not known is told nothing.
# labels:
#   id: disclosure.nothing
default disclose := {"detail": "none", "text": "", "alias_model": false}

# METADATA
# title: Disclose
# description: How much of the decision the audience sees, and the text that it reads.
# entrypoint: true
# labels:
#   id: disclosure.disclose
disclose := {
	"detail": data.config.disclosure.detail[input.audience],
	"text": text,
	"alias_model": data.config.disclosure.alias_model[input.audience],
}

# METADATA
# title: Text
# description: The audience without details reads no text either.
# labels:
#   id: disclosure.text.none
default text := ""

# METADATA
# title: Text
# description: The text of the situation in the caller's language.
# labels:
#   id: disclosure.text
text := data.config.disclosure.texts[input.language][input.situation] if {
	data.config.disclosure.detail[input.audience] != "none"
}
