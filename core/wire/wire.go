// Package wire says what every vendor's wire format must be able to do; each
// format is a package below it.
package wire

import (
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/sse"
)

// Peek is what the gateway must know of a request body, found by one walk over
// its top level without decoding it. Slices and spans point into the body.
type Peek struct {
	// Model is the model asked for, "" when absent. ModelSpan are the byte
	// offsets of its JSON value, quotes included; 0,0 when absent.
	Model     string
	ModelSpan [2]int
	Stream    bool
	// MaxTokens is the output limit asked for, 0 when absent.
	MaxTokens int
	Needs     core.Needs
	// User is the vendor's user id (metadata.user_id, safety_identifier or user).
	User []byte
	// Prefix are the bytes that start the conversation: the system prompt and
	// the first message. They name the conversation when nothing else does (R2.4).
	Prefix [2][]byte
	// InputTokens is the estimate of the prompt, one token per four bytes of it, not yet rounded.
	InputTokens int
	// WantsUsage reports that a streaming OpenAI caller asked for the usage chunk.
	WantsUsage bool
	// StreamOptionsSpan are the byte offsets of stream_options' value; 0,0 when absent.
	StreamOptionsSpan [2]int
	// Open is the offset right after the body's opening brace, where a field can be added.
	Open int
	// Responses reports a body shaped for the Responses API (input without messages).
	Responses bool
}

// Mark is what one event of a stream means.
type Mark uint8

// The marks of stream events.
const (
	// MarkLifecycle carries nothing that a caller could act on: it is held back
	// until content comes (R6.2).
	MarkLifecycle Mark = iota
	// MarkPing is a sign of life.
	MarkPing
	// MarkContent carries a part of the answer: the commit point.
	MarkContent
	// MarkUsage carries usage and nothing else.
	MarkUsage
	// MarkEnd is the answer's proper end.
	MarkEnd
	// MarkError is an error event inside the stream; see Follower.Err.
	MarkError
)

// Follower follows the events of one streamed answer. It is not safe for
// concurrent use. It keeps no event.
type Follower interface {
	// Follow takes note of one event and says what it means.
	Follow(ev *sse.Event) Mark
	// Err is the error event's failure after MarkError, and after the upstream's
	// end the failure of a stream that was cut, or nil when the answer is whole.
	Err() *core.Error
	// Seen returns the usage, the model and the message id seen so far.
	Seen() (u price.Usage, model, id string)
	// Reset readies the follower for another stream.
	Reset()
}

// Format is one wire format. Implementations are safe for concurrent use.
type Format interface {
	// Wire names the format.
	Wire() core.Wire
	// Peek looks at a request body. Its error is a [*core.Error] of
	// KindInvalidRequest whose Message tells the caller what to mend and where.
	Peek(body []byte, p *Peek) error
	// Native appends the body for a target that speaks this format: byte for byte
	// the caller's, except for the model's name and, for streams, the request for
	// usage where the target's server takes it.
	Native(dst, body []byte, p *Peek, t *core.Target) []byte
	// Classify turns an error answer into a failure, by status and error type and code.
	Classify(status int, h http.Header, body []byte, now time.Time) *core.Error
	// Answer looks at a whole JSON answer: usage, model and message id. Its error
	// is a [*core.Error] of KindBadResponse for anything that is no answer, and of
	// the right kind for an error inside a 200.
	Answer(body []byte) (u price.Usage, model, id string, err *core.Error)
	// NewFollower returns a follower for this format's streams.
	NewFollower() Follower
	// AppendError appends the JSON error body for e, in this format, and returns
	// the HTTP status it goes with.
	AppendError(dst []byte, e *core.Error, requestID string) ([]byte, int)
	// AppendErrorEvent appends the error event that ends a stream which already began.
	AppendErrorEvent(dst []byte, e *core.Error, requestID string) []byte
	// AppendPing appends a sign of life that no client takes for content.
	AppendPing(dst []byte) []byte
}
