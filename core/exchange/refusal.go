package exchange

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spillway-llm/spillway/core"
)

// Refusal is the own no to a request that never reached the engine, with a
// message that says what to do. Status and kind decide how a format words it.
func Refusal(kind core.Kind, status int, format string, args ...any) *core.Error {
	return &core.Error{Op: "receive request", Kind: kind, Status: status, Message: fmt.Sprintf(format, args...)}
}

// BadRequest is the refusal of a request that is not valid.
func BadRequest(format string, args ...any) *core.Error {
	return Refusal(core.KindInvalidRequest, http.StatusBadRequest, format, args...)
}

// peekRefusal makes a body's fault a [core.Error] whatever its format says.
func peekRefusal(err error) *core.Error {
	var e *core.Error
	if errors.As(err, &e) {
		return e
	}
	return BadRequest("the body can't be read: %v", err)
}
