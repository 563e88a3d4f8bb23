package limit_test

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/limit"
)

// usd is an exact amount for figures of whole millionths.
func usd(millionths int64) int64 { return millionths * 1e6 }

func known(pico int64) limit.Cost { return limit.Cost{Pico: pico, Known: true} }

func noon() time.Time { return time.Date(2026, 9, 21, 12, 0, 0, 0, time.UTC) }

// R23's second run: a cap of a cent, ten requests at once at 0.4 cents each,
// and one more after all have ended.
func TestSpend_BurstDoesNotGetPast(t *testing.T) {
	t.Parallel()
	s := limit.NewSpend(limit.SpendSettings{DayPico: usd(10_000)})
	var holds []limit.SpendHold
	for range 10 {
		h, no := s.Reserve(noon(), known(usd(4000)))
		if !no.Refused() {
			holds = append(holds, h)
			continue
		}
		want := limit.Refusal{
			Rule: limit.RuleSpendDay, Asked: usd(4000), Left: usd(2000), Cap: usd(10_000), RetryAfter: time.Second,
		}
		if no != want {
			t.Fatalf("got %+v, want %+v", no, want)
		}
	}
	if len(holds) != 2 {
		t.Fatalf("%d were admitted, want 2", len(holds))
	}
	for i := range holds {
		holds[i].Settle(noon().Add(time.Second), known(usd(4000)))
	}
	_, no := s.Reserve(noon().Add(time.Second), known(usd(4000)))
	if !no.Refused() || no.RetryAfter != 12*time.Hour-time.Second || no.Over() != usd(2000) {
		t.Errorf("got %+v, want a refusal until midnight", no)
	}
	if _, no := s.Reserve(noon(), known(usd(2000))); no.Refused() {
		t.Errorf("what is left: %v", no)
	}
}

func TestSpend_DayAndMonth(t *testing.T) {
	t.Parallel()
	at := func(month time.Month, day, hour int) time.Time {
		return time.Date(2028, month, day, hour, 0, 0, 0, time.UTC)
	}
	s := limit.NewSpend(limit.SpendSettings{DayPico: 100, MonthPico: 250})
	spend := func(now time.Time, pico int64) limit.Refusal {
		h, no := s.Reserve(now, known(pico))
		h.Settle(now, known(pico))
		return no
	}
	for _, step := range []struct {
		at   time.Time
		pico int64
		rule limit.Rule
		wait time.Duration
	}{
		{at(time.February, 28, 0), 100, limit.RuleNone, 0},
		{at(time.February, 28, 23), 1, limit.RuleSpendDay, time.Hour},
		{at(time.February, 29, 0), 100, limit.RuleNone, 0}, // a leap year
		{at(time.February, 29, 12), 60, limit.RuleSpendDay, 12 * time.Hour},
		{at(time.March, 1, 0), 100, limit.RuleNone, 0}, // a new day and month
		{at(time.March, 2, 0), 100, limit.RuleNone, 0},
		{at(time.March, 3, 0), 60, limit.RuleSpendMonth, 29 * 24 * time.Hour},
		{at(time.March, 3, 0), 50, limit.RuleNone, 0},
		{at(time.March, 3, 0), 60, limit.RuleSpendMonth, 29 * 24 * time.Hour}, // the longer of both
		{at(time.March, 31, 0), 101, limit.RuleSpendDay, 0},                   // never
		{at(time.April, 1, 0), 100, limit.RuleNone, 0},
	} {
		no := spend(step.at, step.pico)
		if no.Rule != step.rule || no.RetryAfter != step.wait || no.Never != (step.pico > 100) {
			t.Errorf("%v: %d: got %+v, want %v for %v", step.at, step.pico, no, step.rule, step.wait)
		}
	}
}

// The zone of the wall time does not matter, only the moment.
func TestSpend_DaysAreUTC(t *testing.T) {
	t.Parallel()
	s := limit.NewSpend(limit.SpendSettings{DayPico: 100})
	tokyo := time.FixedZone("JST", 9*3600)
	h, _ := s.Reserve(time.Date(2026, 9, 22, 8, 59, 0, 0, tokyo), known(100))
	h.Settle(time.Date(2026, 9, 22, 8, 59, 0, 0, tokyo), known(100))
	if _, no := s.Reserve(time.Date(2026, 9, 21, 23, 59, 0, 0, time.UTC), known(1)); no.RetryAfter != time.Minute {
		t.Errorf("got %+v, want one minute left of the same UTC day", no)
	}
	if _, no := s.Reserve(time.Date(2026, 9, 22, 9, 0, 0, 0, tokyo), known(1)); no.Refused() {
		t.Errorf("midnight UTC: %v", no)
	}
}

func TestSpend_Midnight(t *testing.T) {
	t.Parallel()
	s := limit.NewSpend(limit.SpendSettings{DayPico: 100})
	midnight := time.Date(2026, 9, 22, 0, 0, 0, 0, time.UTC)
	h, _ := s.Reserve(midnight.Add(-time.Second), known(80))
	if _, no := s.Reserve(midnight.Add(time.Second), known(30)); !no.Refused() {
		t.Error("what still runs no longer counts after midnight")
	}
	h.Settle(midnight.Add(2*time.Second), known(70))
	if v := s.View(midnight.Add(2 * time.Second)); v.DayPico != 70 || v.MonthPico != 70 || v.Reserved != 0 {
		t.Errorf("got %+v, want 70 in the day in which it ended", v)
	}
	// Callers that read the clock before midnight and arrive after it.
	if v := s.View(midnight.Add(-time.Millisecond)); v.DayPico != 70 || !v.Day.Equal(midnight) {
		t.Errorf("got %+v, want yesterday not opened again", v)
	}
}

func TestSpend_WallClockSet(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		step time.Duration
		want int64
	}{
		"an_hour_ahead": {time.Hour, 60}, "an_hour_back": {-time.Hour, 60}, "a_day_back": {-24 * time.Hour, 60},
		"ten_years_back": {-10 * 365 * 24 * time.Hour, 60}, "a_day_ahead": {24 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := limit.NewSpend(limit.SpendSettings{DayPico: 100})
			h, _ := s.Reserve(noon(), known(60))
			h.Settle(noon(), known(60))
			now := noon().Add(tc.step)
			if got := s.View(now).DayPico; got != tc.want {
				t.Errorf("got %d spent, want %d", got, tc.want)
			}
			next := now.Add(24 * time.Hour)
			if _, no := s.Reserve(next, known(100)); no.Refused() {
				t.Errorf("a day later the cap is still locked: %v", no)
			}
		})
	}
}

func TestSpend_UnknownPrice(t *testing.T) {
	t.Parallel()
	tokens := limit.Cost{Input: 1000, Output: 100}
	fallback := limit.SpendSettings{DayPico: usd(10_000), FallbackInputPico: 3e6, FallbackOutputPico: 15e6}
	for name, tc := range map[string]struct {
		settings        limit.SpendSettings
		estimate, real  limit.Cost
		refused         limit.Rule
		spent, unpriced int64
	}{
		"refused_under_a_cap":        {limit.SpendSettings{DayPico: 1}, tokens, tokens, limit.RulePriceUnknown, 0, 0},
		"refused_under_a_month_cap":  {limit.SpendSettings{MonthPico: 1}, tokens, tokens, limit.RulePriceUnknown, 0, 0},
		"free_is_not_unknown":        {limit.SpendSettings{DayPico: 1}, known(0), known(0), limit.RuleNone, 0, 0},
		"admitted_without_a_cap":     {limit.SpendSettings{}, tokens, tokens, limit.RuleNone, 0, 1},
		"at_the_stated_price":        {fallback, tokens, limit.Cost{Input: 500, Output: 10}, limit.RuleNone, 500*3e6 + 10*15e6, 1},
		"stated_price_and_no_tokens": {fallback, limit.Cost{}, tokens, limit.RulePriceUnknown, 0, 0},
		"no_usage_costs_the_reserve": {fallback, tokens, limit.Cost{}, limit.RuleNone, 1000*3e6 + 100*15e6, 1},
		"known_after_all":            {fallback, tokens, known(7), limit.RuleNone, 7, 0},
		"lost_after_all":             {limit.SpendSettings{DayPico: 100}, known(40), tokens, limit.RuleNone, 40, 1},
		"nonsense_refunds_nothing":   {limit.SpendSettings{DayPico: 100}, known(40), known(-500), limit.RuleNone, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := limit.NewSpend(tc.settings)
			h, no := s.Reserve(noon(), tc.estimate)
			if no.Rule != tc.refused || no.Never != (tc.refused != limit.RuleNone) {
				t.Fatalf("got %v, want %v", no, tc.refused)
			}
			h.Settle(noon(), tc.real)
			h.Settle(noon(), tc.real)
			h.Cancel(noon())
			v := s.View(noon())
			if v.DayPico != tc.spent || v.MonthPico != tc.spent || v.Unpriced != tc.unpriced || v.Reserved != 0 {
				t.Errorf("got %+v, want %d spent, %d unpriced", v, tc.spent, tc.unpriced)
			}
		})
	}
}

func TestSpend_CancelGivesAllBack(t *testing.T) {
	t.Parallel()
	s := limit.NewSpend(limit.SpendSettings{DayPico: 100})
	h, _ := s.Reserve(noon(), known(100))
	h.Cancel(noon())
	if _, no := s.Reserve(noon(), known(100)); no.Refused() {
		t.Error(no)
	}
	var none limit.SpendHold
	none.Cancel(noon())
	none.Settle(noon(), known(5))
}

// Only reservations are in the way: the wait is what such ones take.
func TestSpend_WaitForReservations(t *testing.T) {
	t.Parallel()
	s := limit.NewSpend(limit.SpendSettings{DayPico: 100})
	for range 40 {
		h, _ := s.Reserve(noon(), known(90))
		h.Settle(noon().Add(20*time.Second), known(0))
	}
	h, _ := s.Reserve(noon(), known(60))
	defer h.Cancel(noon())
	if _, no := s.Reserve(noon(), known(60)); no.RetryAfter < 19*time.Second || no.RetryAfter > 20*time.Second {
		t.Errorf("got %v, want about the 20 s that reservations last", no.RetryAfter)
	}
}

func TestSpend_Restore(t *testing.T) {
	t.Parallel()
	before := limit.NewSpend(limit.SpendSettings{DayPico: 100, MonthPico: 300})
	h, _ := before.Reserve(noon(), known(70))
	h.Settle(noon(), known(70))
	if _, no := before.Reserve(noon(), known(30)); no.Refused() { // lost with the process
		t.Fatal(no)
	}
	kept := before.View(noon()).Spent
	for name, tc := range map[string]struct {
		at         time.Time
		day, month int64
	}{
		"the_same_day":   {noon().Add(time.Hour), 70, 70},
		"the_next_day":   {noon().Add(24 * time.Hour), 0, 70},
		"the_next_month": {noon().AddDate(0, 1, 0), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := limit.NewSpend(limit.SpendSettings{DayPico: 100, MonthPico: 300})
			s.Restore(tc.at, kept)
			if v := s.View(tc.at); v.DayPico != tc.day || v.MonthPico != tc.month || v.Reserved != 0 {
				t.Errorf("got %+v, want %d and %d", v, tc.day, tc.month)
			}
			s.Restore(tc.at, limit.Spent{Day: kept.Day, Month: kept.Month, DayPico: -5, MonthPico: -5})
			if v := s.View(tc.at); v.DayPico != 0 || v.MonthPico < 0 {
				t.Errorf("restored a debt: %+v", v)
			}
		})
	}
}

func TestSpend_SetSettings(t *testing.T) {
	t.Parallel()
	s := limit.NewSpend(limit.SpendSettings{})
	h, _ := s.Reserve(noon(), known(70))
	s.SetSettings(limit.SpendSettings{DayPico: 100})
	if _, no := s.Reserve(noon(), known(40)); !no.Refused() {
		t.Error("a new cap forgot what runs already")
	}
	h.Settle(noon(), known(70))
	s.SetSettings(limit.SpendSettings{DayPico: 50})
	if _, no := s.Reserve(noon(), known(1)); no.Left != 0 || no.Cap != 50 {
		t.Errorf("got %+v, want nothing left of a lowered cap", no)
	}
	s.SetSettings(limit.SpendSettings{DayPico: -3})
	if _, no := s.Reserve(noon(), known(math.MaxInt64)); no.Refused() {
		t.Errorf("without a cap: %v", no)
	}
}

// Amounts beyond what can be counted stop at the largest and come back whole.
func TestSpend_Overflow(t *testing.T) {
	t.Parallel()
	s := limit.NewSpend(limit.SpendSettings{FallbackInputPico: math.MaxInt64})
	var holds []limit.SpendHold
	for range 4 {
		h, _ := s.Reserve(noon(), known(math.MaxInt64/2))
		holds = append(holds, h)
	}
	h, _ := s.Reserve(noon(), limit.Cost{Input: math.MaxInt64, Output: math.MaxInt64})
	holds = append(holds, h)
	if got := s.View(noon()).Reserved; got != math.MaxInt64 {
		t.Errorf("got %d reserved, want the largest", got)
	}
	for i := range holds {
		holds[i].Cancel(noon())
	}
	if got := s.View(noon()).Reserved; got != 0 {
		t.Errorf("%d did not come back", got)
	}
	for range 3 {
		h, _ := s.Reserve(noon(), known(1))
		h.Settle(noon(), known(math.MaxInt64))
	}
	if v := s.View(noon()); v.DayPico != math.MaxInt64 {
		t.Errorf("got %d spent, want the largest", v.DayPico)
	}
}
