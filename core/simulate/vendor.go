package simulate

import (
	"context"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
)

const (
	// connectTimeout is what the gateway waits for a connection by default.
	connectTimeout = 5 * time.Second
	// progressEvery is how often a stream shows that it is alive.
	progressEvery = 5 * time.Second
	// silence is longer than any limit: only the end of its context ends it.
	silence = 24 * time.Hour
)

// vendors are the simulated vendors of one run.
type vendors struct {
	scenario *Scenario
	clock    *Clock
	random   core.Random
	tally    *tally
	windows  map[windowKey]*window
}

// windowKey names what a limit counts: the calls of one key under one phase.
type windowKey struct {
	phase         int
	provider, key string
}

type window struct {
	number int64
	calls  int
}

// visit is one request's way through the vendors. It is the engine's Attempter.
type visit struct {
	vendors *vendors
	id      uint64 // the same under every policy
	kind    *RequestKind
	tokens  int   // of the whole answer
	tries   []int // per target
}

var _ core.Attempter = (*visit)(nil)

// Prepare accepts every target: simulated requests fit all wire formats.
func (*visit) Prepare(*core.Target) error { return nil }

// Attempt plays one call as the phases of this moment say.
func (r *visit) Attempt(ctx context.Context, a *core.Attempt) error {
	f := r.vendors.fate(r, a)
	a.Model = a.Target.Model
	switch f.kind {
	case core.KindTimeoutConnect:
		return r.fail(ctx, a, f, connectTimeout)
	case core.KindTimeoutFirstContent:
		return r.vendors.clock.Sleep(ctx, silence)
	case core.KindNone, core.KindStreamCut, core.KindStreamError, core.KindTimeoutIdle:
		return r.answer(ctx, a, f)
	}
	return r.fail(ctx, a, f, f.after)
}

// fail refuses the call after a while.
func (r *visit) fail(ctx context.Context, a *core.Attempt, f fate, after time.Duration) error {
	if err := r.vendors.clock.Sleep(ctx, after); err != nil {
		return err
	}
	return f.error(a)
}

// answer gives the whole answer, or as much of it as the fate allows.
func (r *visit) answer(ctx context.Context, a *core.Attempt, f fate) error {
	tokens := r.tokens
	if f.kind != core.KindNone {
		tokens = int(f.cut * float64(tokens))
	}
	if err := r.speak(ctx, a, f, tokens); err != nil {
		return err
	}
	switch f.kind {
	case core.KindNone:
		return nil
	case core.KindTimeoutIdle:
		return r.vendors.clock.Sleep(ctx, silence)
	}
	return f.error(a)
}

// speak sends tokens: one after the other in a stream, otherwise all at the end.
func (r *visit) speak(ctx context.Context, a *core.Attempt, f fate, tokens int) error {
	clock := r.vendors.clock
	left := time.Duration(tokens) * f.perToken
	if !r.kind.Stream {
		if err := clock.Sleep(ctx, f.first+left); err != nil {
			return err
		}
		a.Usage = r.usage(tokens)
		if f.kind == core.KindNone {
			a.FirstContent()
		}
		return nil
	}
	if err := clock.Sleep(ctx, f.first); err != nil {
		return err
	}
	a.FirstContent()
	for left > 0 {
		a.Usage = r.usage(tokens - int(left/f.perToken))
		piece := min(left, progressEvery)
		if err := clock.Sleep(ctx, piece); err != nil {
			return err
		}
		a.Progress()
		left -= piece
	}
	a.Usage = r.usage(tokens)
	return nil
}

func (r *visit) usage(output int) price.Usage {
	return price.Usage{Input: int64(r.kind.InputTokens), Output: int64(output), Known: true}
}

// fate is what becomes of one call.
type fate struct {
	kind     core.Kind
	after    time.Duration // until a failure that says nothing before
	hint     time.Duration
	first    time.Duration
	perToken time.Duration
	cut      float64 // the share of the answer after which it ends badly
}

func (f fate) error(a *core.Attempt) error {
	a.Status = status(f.kind)
	return &core.Error{
		Op: "call node " + a.Node.ID, Kind: f.kind, Status: a.Status, RetryAfter: f.hint, HintGiven: f.hint > 0,
		// An error event inside a stream is not for the same target again (R6.5).
		NoRetry: f.kind == core.KindStreamError,
	}
}

// status is what the vendor's HTTP status would be, 0 without an answer.
func status(k core.Kind) int {
	switch k {
	case core.KindRateLimited, core.KindQuotaExhausted:
		return 429
	case core.KindBilling:
		return 402
	case core.KindOverloaded:
		return 529
	case core.KindServerError:
		return 500
	case core.KindConflict:
		return 409
	case core.KindInvalidRequest:
		return 400
	case core.KindAuthProvider:
		return 401
	case core.KindStreamCut, core.KindStreamError, core.KindTimeoutIdle, core.KindBadResponse:
		return 200
	}
	return 0
}

// fate decides a call: each phase in turn may slow it down, and the first that
// refuses it decides.
func (v *vendors) fate(r *visit, a *core.Attempt) fate {
	now := v.clock.Mono()
	i := slices.IndexFunc(v.scenario.Targets, func(t Target) bool { return t.ID == a.Target.ID })
	t := &v.scenario.Targets[i]
	n := (i*1000 + r.tries[i]) * 1000 // room for a draw per phase
	r.tries[i]++
	draw := func(p core.Purpose, phase int) float64 { return v.random.Float64(r.id, p, n+phase) }

	f := fate{cut: draw(purposeCut, 0)}
	slowFirst, slowToken, dead := 1.0, 1.0, -1
	for j := range v.scenario.Phases {
		p := &v.scenario.Phases[j]
		if !p.meets(now, a) {
			continue
		}
		slowFirst, slowToken = slowFirst*factor(p.FirstContentFactor), slowToken*factor(p.TokenFactor)
		if p.Dead {
			dead = j
		}
		if f.kind != core.KindNone {
			continue
		}
		f.kind, f.hint = v.limited(p, j, now, a)
		if f.kind == core.KindNone {
			f.kind = p.failure(draw(purposeFailure, j))
			f.hint = p.hint(f.kind)
		}
		f.after = p.failAfter().at(draw(purposeFailAfter, j))
	}
	v.tally.call(now, dead)
	f.first = time.Duration(float64(t.FirstContentMS.at(draw(purposeLatency, 0))) * slowFirst)
	f.perToken = milliseconds(t.MSPerToken * slowToken)
	return f
}

func factor(f float64) float64 {
	if f == 0 {
		return 1
	}
	return f
}

// meets reports whether the phase is on and chooses the call.
func (p *Phase) meets(now time.Duration, a *core.Attempt) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return now >= duration(p.FromS) && now < duration(p.ToS) && is(p.Provider, a.Provider.ID) && is(p.Node, a.Node.ID) &&
		is(p.Region, a.Node.Region) && is(p.Target, a.Target.ID) && is(p.Key, a.Key.ID)
}

// failure is the kind that a draw falls on, in the order of the kinds.
func (p *Phase) failure(u float64) core.Kind {
	for k := range core.KindCount {
		if share := p.Failures[k]; share > 0 {
			if u < share {
				return k
			}
			u -= share
		}
	}
	return core.KindNone
}

// hint is the Retry-After of the kinds that vendors send one with.
func (p *Phase) hint(k core.Kind) time.Duration {
	switch k {
	case core.KindRateLimited, core.KindOverloaded, core.KindServerError:
		return duration(p.RetryAfterS)
	}
	return 0
}

func (p *Phase) failAfter() Spread {
	if p.FailAfterMS == nil {
		return Spread{P50: 120, P95: 400}
	}
	return *p.FailAfterMS
}

// limited counts the call against the phase's limit, and refuses it beyond.
func (v *vendors) limited(p *Phase, phase int, now time.Duration, a *core.Attempt) (core.Kind, time.Duration) {
	if p.Limit == nil {
		return core.KindNone, 0
	}
	per, since := duration(p.Limit.PerS), now-duration(p.FromS)
	key := windowKey{phase, a.Provider.ID, a.Key.ID}
	w := v.windows[key]
	if w == nil {
		w = &window{}
		v.windows[key] = w
	}
	if number := int64(since / per); number != w.number {
		*w = window{number: number}
	}
	if w.calls < p.Limit.Calls {
		w.calls++
		return core.KindNone, 0
	}
	if p.Limit.Kind == core.KindRateLimited {
		return core.KindRateLimited, per - since%per
	}
	return p.Limit.Kind, duration(p.RetryAfterS)
}
