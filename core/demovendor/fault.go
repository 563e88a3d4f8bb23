package demovendor

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Kind names a fault.
type Kind string

// The faults that a vendor can be broken with.
const (
	// Healthy is no fault.
	Healthy Kind = ""
	// Overloaded is 529 overloaded_error, or OpenAI's 503 server_is_overloaded.
	Overloaded Kind = "overloaded"
	// RateLimited is 429 with Retry-After.
	RateLimited Kind = "rate_limited"
	// Timeout never answers, until the client goes.
	Timeout Kind = "timeout"
	// Cut drops a stream after some content, and a JSON answer half-way.
	Cut Kind = "cut"
	// Slow delays the first content.
	Slow Kind = "slow"
	// ServerError is 500.
	ServerError Kind = "server_error"
	// Credit is an account without credit: Anthropic's 400, OpenAI's 429 insufficient_quota.
	Credit Kind = "credit"
	// Auth is 401: the key is refused.
	Auth Kind = "auth"
	// ErrorEvent is an error event inside a 200 stream.
	ErrorEvent Kind = "error_event"
	// Redirect is 307 to another host.
	Redirect Kind = "redirect"
)

// Kinds returns the faults, in the order they should be offered.
func Kinds() []Kind {
	return []Kind{Overloaded, RateLimited, Timeout, Cut, Slow, ServerError, Credit, Auth, ErrorEvent, Redirect}
}

// Fault is how a vendor is broken. Its zero value is health.
type Fault struct {
	Kind Kind `json:"kind"`
	// Model restricts the fault to one model; empty breaks them all.
	Model string `json:"model,omitempty"`
	// Share is the part of the requests that fail, in (0, 1]; 0 means all.
	Share float64 `json:"share,omitempty"`
	// After is how many chunks of content precede a cut or an error event. For a
	// cut 0 means 5; for an error event 0 is before any content.
	After int `json:"after,omitempty"`
	// DelayMS is how long the first content of a slow vendor takes; 0 means 20,000.
	DelayMS int `json:"delay_ms,omitempty"`
	// RetryAfterS are the seconds of Retry-After; 0 means 20.
	RetryAfterS int `json:"retry_after_s,omitempty"`
	// Location is where a redirect points; empty is a host that does not exist.
	Location string `json:"location,omitempty"`
}

// ErrFault marks a fault that does not exist or has figures out of range.
var ErrFault = errors.New("no such fault")

// Check reports what is wrong with the fault, as an [ErrFault], or nil.
func (f Fault) Check() error {
	switch {
	case f.Kind != Healthy && !slices.Contains(Kinds(), f.Kind):
		return fmt.Errorf("fault kind %q: must be one of %q: %w", f.Kind, Kinds(), ErrFault)
	case f.Share < 0 || f.Share > 1 || f.Share != f.Share:
		return fmt.Errorf("fault share %v: must be from 0 to 1: %w", f.Share, ErrFault)
	case f.After < 0 || f.DelayMS < 0 || f.RetryAfterS < 0:
		return fmt.Errorf("fault %q: after, delay_ms and retry_after_s must not be negative: %w", f.Kind, ErrFault)
	}
	return nil
}

// Break breaks the vendor for the requests for answers that arrive from now on;
// it goes on listing its models and counting tokens. A fault
// that fails its check, or names a model that is not served, changes nothing.
func (v *Vendor) Break(f Fault) error {
	if err := f.Check(); err != nil {
		return err
	}
	if f.Model != "" && v.model(f.Model) == nil {
		return fmt.Errorf("fault %q: model %q is not served here: %w", f.Kind, f.Model, ErrFault)
	}
	v.fault.Store(&f)
	return nil
}

// Heal ends the fault, the script and Always. Requests that already hang stay so.
func (v *Vendor) Heal() {
	v.fault.Store(nil)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.script, v.always = nil, nil
}

// Fault returns the present fault.
func (v *Vendor) Fault() Fault {
	if f := v.fault.Load(); f != nil {
		return *f
	}
	return Fault{}
}

// faultStep is the step that the present fault makes of a request.
func (v *Vendor) faultStep(r *Request) Step {
	f := v.Fault()
	if f.Kind == Healthy || f.Model != "" && f.Model != r.Model {
		return Step{}
	}
	if f.Share > 0 && v.draw(r.Number, drawFault) >= f.Share {
		return Step{}
	}
	return f.step(v.cfg.Wire)
}

// step puts the fault in the words of a wire format. Refusals come at once.
func (f Fault) step(w Wire) Step {
	openai := w == WireOpenAI
	s := Step{Delay: -1}
	switch f.Kind {
	case Overloaded:
		s.Status = 529
		if openai {
			s.Status = http.StatusServiceUnavailable
		}
	case RateLimited:
		s.Status = http.StatusTooManyRequests
		s.Header = http.Header{"Retry-After": {strconv.Itoa(cmp.Or(f.RetryAfterS, 20))}}
	case ServerError:
		s.Status = http.StatusInternalServerError
	case Auth:
		s.Status = http.StatusUnauthorized
	case Credit:
		s.Status, s.ErrorCode = http.StatusBadRequest, "credit_balance_too_low"
		s.Message = "Your credit balance is too low to use this API."
		if openai {
			s.Status, s.ErrorType, s.ErrorCode = http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota"
			s.Message = "You exceeded your current quota."
		}
	case Redirect:
		s.Status, s.Body = http.StatusTemporaryRedirect, "{}"
		s.Header = http.Header{"Location": {cmp.Or(f.Location, "https://elsewhere.invalid/")}}
	case Timeout:
		return Silence()
	case Cut:
		return Step{End: EndCut, After: cmp.Or(f.After, 5)}
	case Slow:
		return Step{FirstContent: time.Duration(cmp.Or(f.DelayMS, 20_000)) * time.Millisecond}
	case ErrorEvent:
		return Step{End: EndErrorEvent, After: f.After}
	}
	return s
}

// statusNever is the status of a step that never answers.
const statusNever = -1

// Silence is the step that never answers, until the client goes.
func Silence() Step { return Step{Status: statusNever} }
