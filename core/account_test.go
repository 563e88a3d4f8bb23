package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/limit"
	"github.com/spillway-llm/spillway/core/price"
)

const cent = price.PicoPerUSD / 100

// spender is one request of a key with limits; it reports the usage given.
type spender struct {
	limits core.CallerLimits
	facts  core.Facts
	usage  price.Usage
	call   func(context.Context, *core.Attempt) (int, error) // nil succeeds
}

func (s spender) ask(t *testing.T, r *rig) (core.Decision, *core.Error) {
	t.Helper()
	req := &core.Request{KeyID: "k", Limits: s.limits, Facts: s.facts}
	_, err := core.Do(t.Context(), r.Engine, req, func(ctx context.Context, a *core.Attempt) (int, error) {
		a.Usage = s.usage
		if s.call != nil {
			return s.call(ctx, a)
		}
		return 0, nil
	})
	var e *core.Error
	errors.As(err, &e)
	return req.Decision, e
}

func used(input, output int64) price.Usage {
	return price.Usage{Input: input, Output: output, Known: true}
}

// keyAccount is the account of the key k.
func (r *rig) keyAccount(t *testing.T) core.Account {
	t.Helper()
	for _, a := range r.Accounts() {
		if a.Scope == limit.ScopeKey && a.ID == "k" {
			return a
		}
	}
	t.Fatal("the key has no account")
	return core.Account{}
}

// A request counts once, whatever its attempts, and by what they really used.
func TestAccount_SettlesByRealUsage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		s := spender{
			limits: core.CallerLimits{
				Rate:  limit.RateSettings{RequestsPerMinute: 100, TokensPerMinute: 100_000},
				Spend: limit.SpendSettings{DayPico: 100 * cent, MonthPico: 1000 * cent},
			},
			facts: core.Facts{InputTokens: 1000, MaxTokens: 1000}, usage: used(1000, 200),
		}
		fail := true
		s.call = func(_ context.Context, a *core.Attempt) (int, error) {
			if fail {
				fail = false
				a.Usage = price.Usage{}
				return 0, fails(core.KindServerError)
			}
			during := r.keyAccount(t)
			if during.Rate.Requests.Used != 1 || during.Rate.Tokens.Used != 2000 || during.Spend.Reserved != 1000*3_000_000+1000*15_000_000 {
				t.Errorf("while it runs %+v", during)
			}
			return 0, nil
		}
		d, err := s.ask(t, r)
		after := r.keyAccount(t)
		if err != nil || len(d.Attempts) != 2 || after.Rate.Requests.Used != 1 || after.Rate.Tokens.Used != 1200 {
			t.Errorf("%v, %d attempts, %+v", err, len(d.Attempts), after.Rate)
		}
		if after.Spend.DayPico != d.Cost || d.Cost != 1000*3_000_000+200*15_000_000 || after.Spend.Reserved != 0 {
			t.Errorf("spent %+v, the decision says %d", after.Spend, d.Cost)
		}
	})
}

func TestAccount_GivesBackOnEveryExit(t *testing.T) {
	limits := core.CallerLimits{
		Rate:  limit.RateSettings{RequestsPerMinute: 10, OutputTokensPerMinute: 10_000},
		Spend: limit.SpendSettings{DayPico: 100 * cent},
	}
	facts := core.Facts{InputTokens: 100, MaxTokens: 1000}
	for name, c := range map[string]struct {
		call                   func(context.Context, *core.Attempt) (int, error)
		change                 func(*core.Tables)
		requests, output, pico int64
	}{
		"error": {
			call:     func(context.Context, *core.Attempt) (int, error) { return 0, fails(core.KindInvalidRequest) },
			requests: 1,
		},
		"panic before content": {
			call:     func(context.Context, *core.Attempt) (int, error) { panic("a defect") },
			requests: 1,
		},
		"panic after content": { // nobody knows what it cost: the whole estimate
			call: func(_ context.Context, a *core.Attempt) (int, error) {
				a.FirstContent()
				panic("a defect")
			},
			requests: 1, output: 1000, pico: 100*3_000_000 + 1000*15_000_000,
		},
		"success without usage": {
			call:     func(context.Context, *core.Attempt) (int, error) { return 0, nil },
			requests: 1, output: 1000, pico: 100*3_000_000 + 1000*15_000_000,
		},
		"nothing sent": {
			change: func(tb *core.Tables) {
				tb.TargetLimits[0].Rate = limit.RateSettings{OutputTokensPerMinute: 10}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				changes := []func(*core.Tables){only("a1")}
				if c.change != nil {
					changes = append(changes, c.change)
				}
				r := newRig(t, changes...)
				func() {
					defer func() { _ = recover() }()
					spender{limits: limits, facts: facts, call: c.call}.ask(t, r)
				}()
				a := r.keyAccount(t)
				if a.Rate.Requests.Used != c.requests || a.Rate.Output.Used != c.output || a.Spend.DayPico != c.pico {
					t.Errorf("%+v, %+v", a.Rate, a.Spend)
				}
				r.idle(t)
			})
		})
	}
}

func TestAccount_Refuses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, func(tb *core.Tables) {
			tb.UseCaseLimits[1].Spend = limit.SpendSettings{DayPico: 2 * cent}
		})
		facts := core.Facts{InputTokens: 1000, MaxTokens: 400} // 0.9 cents
		tokens := core.CallerLimits{Rate: limit.RateSettings{TokensPerMinute: 2000}}
		money := core.CallerLimits{Spend: limit.SpendSettings{DayPico: cent, MonthPico: 10 * cent}}
		batch := facts
		batch.UseCase = "batch"
		huge := facts
		huge.MaxTokens = 9000
		for _, c := range []struct {
			name string
			spender
			code, says string
			wait       time.Duration
		}{
			{"fits", spender{limits: tokens, facts: facts, usage: used(1000, 400)}, "", "", 0},
			{"tokens of the key", spender{limits: tokens, facts: facts}, "tokens_per_minute",
				"The limit tokens_per_minute of this key is reached: 1400 asked, 600 of 2000 left. Try again in 24 s, or ask the operator to raise the limit.", 24 * time.Second},
			{"never", spender{limits: tokens, facts: huge}, "tokens_per_minute",
				"The request asks for 10000, more than the limit tokens_per_minute of this key ever allows: 2000. Ask for less", 0},
			{"spends", spender{limits: money, facts: facts, usage: used(1000, 400)}, "", "", 0},
			{"the key's day", spender{limits: money, facts: facts}, "spend_per_day",
				"The limit spend_per_day of this key is reached: $0.009 asked, $0.001 of $0.01 left. Try again in 24 h", 24 * time.Hour},
			{"batch spends", spender{facts: batch, usage: used(5000, 0)}, "", "", 0},
			{"the use case's day", spender{facts: batch}, "spend_per_day", "The limit spend_per_day of this use case is reached", 24 * time.Hour},
		} {
			d, err := c.ask(t, r)
			switch {
			case c.code == "" && err != nil:
				t.Errorf("%s: %+v", c.name, err)
			case c.code == "":
			case err == nil || err.Kind != core.KindLimitLocal || err.Code != c.code || err.RetryAfter != c.wait || err.HintGiven != (c.wait > 0):
				t.Errorf("%s: %+v", c.name, err)
			case !strings.HasPrefix(err.Message, c.says) || d.Limit != err.Type+" "+c.code || len(d.Attempts) != 0 || d.Outcome != core.KindLimitLocal:
				t.Errorf("%s: limit %q, outcome %v: %s", c.name, d.Limit, d.Outcome, err.Message)
			}
		}
		r.idle(t)
	})
}

// Unknown is not free (R51): o1 has no price.
func TestAccount_UnknownPrice(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		facts := core.Facts{InputTokens: 1000, MaxTokens: 1000}
		named := facts
		named.Target = "o1"
		capped := core.CallerLimits{Spend: limit.SpendSettings{DayPico: 100 * cent}}
		stated := capped
		stated.Spend.FallbackOutputPico = 75_000_000
		ask := func(l core.CallerLimits, f core.Facts, call func(context.Context, *core.Attempt) (int, error)) (core.Decision, *core.Error) {
			return spender{limits: l, facts: f, usage: used(1000, 100), call: call}.ask(t, r)
		}
		if d, err := ask(core.CallerLimits{}, named, nil); err != nil || d.Target != "o1" || d.CostKnown {
			t.Errorf("without a cap: %v by %q", err, d.Target)
		}
		d, err := ask(capped, named, nil)
		if err == nil || err.Code != "price_unknown" || !err.NoRetry || err.RetryAfter != 0 || len(d.Attempts) != 0 {
			t.Fatalf("with a cap: %+v", err)
		}
		if !strings.Contains(err.Message, "has no price") || !strings.Contains(err.Message, "ask the operator to give the target a price or the cap a fallback price") {
			t.Errorf("no remedy: %s", err.Message)
		}
		// Others are served, and never fall back to what can't be held to the cap.
		down := func(context.Context, *core.Attempt) (int, error) { return 0, fails(core.KindOverloaded) }
		d, err = ask(capped, facts, down)
		if err == nil || err.Kind != core.KindOverloaded || len(d.Attempts) != 2 || d.Skips[0].Detail != "price_unknown" || d.Skips[0].Target != "o1" {
			t.Errorf("%+v, attempts %v, skips %+v", err, targets(&d), d.Skips)
		}
		if got := r.keyAccount(t).Spend; got.DayPico != 0 || got.Reserved != 0 {
			t.Errorf("refusals cost %+v", got)
		}
		if d, err = ask(stated, named, nil); err != nil || d.Target != "o1" || d.CostKnown {
			t.Errorf("at a stated price: %v by %q", err, d.Target)
		}
		if got := r.keyAccount(t).Spend; got.DayPico != 100*75_000_000 || got.Unpriced != 1 {
			t.Errorf("spent %+v, want the fallback price of 100 output tokens", got)
		}
	})
}

func TestAccount_SurvivesARestart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		capUse := func(tb *core.Tables) { tb.UseCaseLimits[0].Spend = limit.SpendSettings{MonthPico: 100 * cent} }
		r := newRig(t, capUse)
		r.Start()
		s := spender{
			limits: core.CallerLimits{Spend: limit.SpendSettings{DayPico: cent}},
			facts:  core.Facts{InputTokens: 1000, MaxTokens: 400}, usage: used(1000, 400),
		}
		for range 20 { // one succeeds
			s.ask(t, r)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if n := len(r.tape.spends); n != 2 {
			t.Fatalf("%d samples of two accounts that moved once: %+v", n, r.tape.spends)
		}
		if got := r.tape.spends[0]; got.Scope != limit.ScopeKey || got.ID != "k" || got.DayPico != 9*cent/10 || got.DayCapPico != cent {
			t.Errorf("sample %+v", got)
		}
		state := r.State()
		again := newRig(t, capUse)
		again.Restore(state)
		if _, err := s.ask(t, again); err == nil || err.Code != "spend_per_day" {
			t.Errorf("after the restart: %+v", err)
		}
		again.Tick()
		if len(again.tape.spends) != 0 || len(again.State().Spends) != 2 {
			t.Errorf("samples %+v, state %+v", again.tape.spends, again.State().Spends)
		}
		time.Sleep(24 * time.Hour)
		if _, err := s.ask(t, again); err != nil {
			t.Errorf("the next day: %+v", err)
		}
		// What is not sampled yet is recorded at the end.
		again.Close()
		last := again.tape.spends[len(again.tape.spends)-1]
		if last.Scope != limit.ScopeUseCase || last.MonthPico != 2*9*cent/10 {
			t.Errorf("at the end %+v", last)
		}
		r.Close()
	})
}

// A thousand settles a second are a sample or two.
func TestAccount_IsSampledSparsely(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t)
		r.Start()
		s := spender{
			limits: core.CallerLimits{Spend: limit.SpendSettings{DayPico: 1000 * cent}},
			facts:  core.Facts{InputTokens: 10, MaxTokens: 10}, usage: used(10, 10),
		}
		for range 10_000 {
			s.ask(t, r)
			time.Sleep(time.Millisecond)
		}
		synctest.Wait() // the background may be at a sample just now
		if n := len(r.tape.spends); n < 10 || n > 15 {
			t.Errorf("%d samples in 10 s, want one in about 750 ms", n)
		}
		last := r.tape.spends[len(r.tape.spends)-1]
		if age := time.Since(last.At); age > 950*time.Millisecond {
			t.Errorf("the newest sample is %v old: a kill would forget as much", age)
		}
		r.Close()
	})
}
