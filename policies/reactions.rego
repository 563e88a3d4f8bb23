# METADATA
# title: Reactions
# description: What follows one kind of failure in one use case.
package spillway.reactions

# METADATA
# title: Reaction
# description: Once the caller has seen content, or for a kind without an entry, the failure is the answer.
# labels:
#   id: reactions.stop
default reaction := {
	"retries": 0,
	"schedule": "exponential",
	"base_ms": 1000,
	"max_ms": 60000,
	"max_inline_wait_ms": 0,
	"pause_ms": 0,
	"next": "none",
}

# METADATA
# title: Reaction
# description: Retries on the same target first, then a pause, then the next step.
# entrypoint: true
# labels:
#   id: reactions.reaction
reaction := {
	"retries": min([retries[kind.retry], data.config.reactions.backoff.max_retries]),
	"schedule": kind.schedule,
	"base_ms": data.config.reactions.backoff.base_ms,
	"max_ms": data.config.reactions.backoff.max_ms,
	"max_inline_wait_ms": inline_wait,
	"pause_ms": pause,
	"next": kind.next,
} if {
	not input.after_content
}

# METADATA
# title: Kind
# description: What the data says about the kind of failure, whatever the use case.
# labels:
#   id: reactions.kind
kind := data.config.reactions.kinds[input.kind]

# METADATA
# title: Figures
# description: The default figures, with those of the use case over them.
# labels:
#   id: reactions.figures
figures := object.union(
	data.config.reactions["default"],
	object.get(data.config.reactions.use_cases, input.use_case, {}),
)

# METADATA
# title: Retries
# description: How often the same target is tried again, by the way that the kind is retried.
# labels:
#   id: reactions.retries
retries := {
	"never": 0,
	"transient": figures.retries,
	"connect": figures.connect_retries,
	"throttled": figures.throttled_retries,
}

# METADATA
# title: Inline wait
# description: Only a throttled request waits for the vendor's hint.
# labels:
#   id: reactions.inline_wait.none
default inline_wait := 0

# METADATA
# title: Inline wait
# description: Only a throttled request waits for the vendor's hint.
# labels:
#   id: reactions.inline_wait
inline_wait := figures.max_inline_wait_ms if kind.retry == "throttled"

# METADATA
# title: Pause
# description: Only what may pass by itself is worth a pause before the next step.
# labels:
#   id: reactions.pause.none
default pause := 0

# METADATA
# title: Pause
# description: Only what may pass by itself is worth a pause before the next step.
# labels:
#   id: reactions.pause
pause := figures.pause_ms if kind.retry in {"transient", "connect"}
