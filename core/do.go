package core

import (
	"context"
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/core/retry"
)

// WireGo marks requests of an embedding program in the audit.
const WireGo Wire = "go"

// Do runs call through plan, circuits, retries and fallback: once per attempt,
// each time for the target, node and key that the attempt names, with any SDK
// whose own retries are off. It records the decision, which req.Decision holds
// afterwards. Facts left empty get their defaults.
//
// call's error decides what happens next: return an [*Error], for example from
// [FromStatus], so that Spillway knows its kind; anything else counts as
// KindServerError. A call that streams reports its first content with
// [Attempt.FirstContent]; otherwise its return is the first content.
func Do[T any](ctx context.Context, e *Engine, req *Request, call func(ctx context.Context, a *Attempt) (T, error)) (T, error) {
	req.Facts.fill()
	if req.Wire == "" {
		req.Wire = WireGo
	}
	c := caller[T]{call: call}
	err := e.Run(ctx, req, &c)
	e.Finish(req)
	return c.out, err
}

// caller makes a function an [Attempter].
type caller[T any] struct {
	call func(context.Context, *Attempt) (T, error)
	out  T
}

// Prepare accepts every target: the function knows its own portability.
func (c *caller[T]) Prepare(*Target) error { return nil }

// Attempt calls the function and keeps the last result.
func (c *caller[T]) Attempt(ctx context.Context, a *Attempt) error {
	out, err := c.call(ctx, a)
	if err != nil {
		return err
	}
	a.FirstContent()
	c.out = out
	return nil
}

// fill gives empty facts their defaults.
func (f *Facts) fill() {
	set := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	set(&f.UseCase, DefaultUseCase)
	set((*string)(&f.Task), string(TaskSimple))
	set((*string)(&f.Audience), string(AudienceFree))
	set((*string)(&f.Quality), string(QualityBalanced))
	set(&f.Language, Languages()[0])
	if f.Priority == 0 {
		f.Priority = DefaultPriority
	}
	if f.LatencyBudgetMS == 0 {
		f.LatencyBudgetMS = DefaultLatencyBudgetMS
	}
	f.InputTokens, f.MaxTokens = RoundUp2(f.InputTokens), RoundUp2(f.MaxTokens)
}

// FromStatus makes an [*Error] of an HTTP status that an SDK reported, with the
// hint of its headers (nil for none). Vendors say more in error types and codes
// than in the status; use it where only the status is known.
func FromStatus(op string, status int, h http.Header, now time.Time, err error) *Error {
	hint := retry.ParseHint(h, now)
	return &Error{
		Op: op, Kind: kindOfStatus(status), Status: status, Err: err,
		RetryAfter: hint.Delay, HintGiven: hint.Given,
	}
}

func kindOfStatus(status int) Kind {
	switch status {
	case http.StatusTooManyRequests:
		return KindRateLimited
	case http.StatusUnauthorized, http.StatusForbidden:
		return KindAuthProvider
	case http.StatusPaymentRequired:
		return KindBilling
	case http.StatusNotFound:
		return KindNotFound
	case http.StatusConflict:
		return KindConflict
	case http.StatusRequestEntityTooLarge:
		return KindTooLarge
	case http.StatusServiceUnavailable, 529:
		return KindOverloaded
	case http.StatusRequestTimeout:
		return KindServerError
	}
	if status >= 400 && status < 500 {
		return KindInvalidRequest
	}
	return KindServerError
}
