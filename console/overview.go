package console

import (
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// state is how a target or a circuit is shown: by its effect, worst first.
type state string

const (
	stateUnusable state = "unusable" // no key or no node
	stateBlocked  state = "blocked"  // a circuit is open
	stateHeld     state = "held"     // by an operator
	stateProbing  state = "probing"  // a circuit is half-open
	stateCooling  state = "cooling"  // all keys of its quota group wait
	stateServing  state = "serving"
	stateQuiet    state = "nodata" // nothing against it, and no requests
)

func states() []state {
	return []state{stateUnusable, stateBlocked, stateHeld, stateProbing, stateCooling, stateServing, stateQuiet}
}

// overview is one picture for the overview page.
type overview struct {
	At       time.Time
	Levels   []levelRow
	Targets  []targetRow // worst first
	Counts   map[state]int
	Requests int // per minute, over all targets
	// Quiet is when the last request came, if that is more than a minute ago;
	// Never is true when there was none since the start.
	Quiet     time.Time
	Never     bool
	Simulated bool
}

type levelRow struct {
	UseCase string
	Level   core.Level
	Since   time.Time // zero when it never changed since the start
}

type targetRow struct {
	Slug      string
	ID        string
	Provider  string
	Simulated bool
	Standby   bool
	// Unpriced reports that nobody said what the target costs.
	Unpriced bool
	// Keys are those of the target's provider.
	Keys  core.ProviderLive
	State state
	// Computed is the state without an operator's hold.
	Computed state
	Circuits []circuitRow // of the use cases that it serves
	// Unusable says why the target has no key or node.
	Unusable     string
	CoolingUntil time.Time
	Live         *core.Live
	BudgetTokens float64
	Budget       int // permille, the emptiest of the use cases that it serves
	Instead      instead
}

type circuitRow struct {
	UseCase string
	// State is held where an operator holds the circuit; Effect is what is in
	// force and Computed what would be without the hold.
	State, Effect, Computed state
	Held                    *core.Override // nil: nobody holds it
	Cause                   string
	Since                   time.Time
	Until                   time.Time // of the hold, or of the open time
	ProbeAt                 time.Time // zero: a call may pass now
	Budget                  int       // permille
	BudgetTokens            float64
}

// notPlain are the circuits that a card has something to say about.
func (t *targetRow) notPlain() []circuitRow {
	return slices.DeleteFunc(slices.Clone(t.Circuits), func(c circuitRow) bool {
		return c.State == stateServing && c.Computed == stateServing
	})
}

// instead is who answers the requests that would have gone to a target.
type instead struct {
	Target string
	// Permille of them over the last minute; 0 when that is only what the policy
	// would do.
	Permille int
	// None reports that the policy has nobody for them.
	None bool
}

// look takes the picture that the overview shows.
func (c *Console) look() overview {
	snap, rev := c.cfg.Live.Snapshot(), c.cfg.Live.Revision()
	now := c.cfg.Now()
	o := overview{At: now, Counts: map[state]int{}}
	for i, u := range snap.UseCases {
		o.Levels = append(o.Levels, levelRow{UseCase: u, Level: snap.Levels[i], Since: c.feed.levelSince(u)})
	}
	slugs := map[string]bool{}
	for i := range snap.Targets {
		row := c.targetRow(snap, rev, i, now)
		for row.Slug = slug(row.ID); slugs[row.Slug]; row.Slug += "-" {
		}
		slugs[row.Slug] = true
		o.Simulated = o.Simulated || row.Simulated
		o.Requests += row.Live.RequestsPerMinute
		o.Counts[row.State]++
		o.Targets = append(o.Targets, row)
	}
	sortWorstFirst(o.Targets)
	if last := c.traffic.last(); last.IsZero() {
		o.Never = true
	} else if now.Sub(last) > time.Minute {
		o.Quiet = last
	}
	return o
}

func (c *Console) targetRow(snap *core.Snapshot, rev *core.Revision, i int, now time.Time) targetRow {
	t, l := &snap.Catalog.Targets[i], &snap.Targets[i]
	p := snap.Catalog.Provider(t)
	row := targetRow{
		ID: t.ID, Provider: p.ID, Simulated: p.Simulated, Standby: t.Standby(), Unpriced: !t.Price.Known(), Keys: keysOf(snap, t),
		Live: l, Budget: 1000,
	}
	if l.CoolingDown {
		row.CoolingUntil = l.CooldownUntil
	}
	if !l.Healthy {
		row.Unusable = l.Unusable
	}
	for u := range snap.UseCases {
		if !served(rev, u, i) || u >= len(l.Circuits) {
			continue
		}
		circ := &l.Circuits[u]
		if circ.BudgetPermille <= row.Budget {
			row.Budget, row.BudgetTokens = circ.BudgetPermille, circ.BudgetTokens
		}
		row.Circuits = append(row.Circuits, newCircuitRow(snap.UseCases[u], circ))
	}
	row.State, row.Computed = worst(&row)
	if row.State != stateServing && row.State != stateQuiet && row.State != stateProbing {
		row.Instead = c.insteadOf(t, rev, now)
	}
	return row
}

func newCircuitRow(useCase string, c *core.CircuitLive) circuitRow {
	row := circuitRow{
		UseCase: useCase, State: circuitState(c), Effect: computedState(c.State), Computed: computedState(c.Computed), Held: c.Held,
		Cause: c.Cause, Since: c.Since, Until: c.Until, ProbeAt: c.Until, Budget: c.BudgetPermille, BudgetTokens: c.BudgetTokens,
	}
	if c.Held != nil {
		row.Since, row.Until = c.Held.At, c.Held.Until
	}
	return row
}

// keysOf are the keys of a target's provider, none in a picture without them.
func keysOf(snap *core.Snapshot, t *core.Target) core.ProviderLive {
	for i := range snap.Providers {
		if snap.Catalog.Providers[i].ID == t.Provider {
			return snap.Providers[i]
		}
	}
	return core.ProviderLive{}
}

// served reports whether a use case uses a target. A revision that was replaced
// between the two readings may be of another size: then nothing is hidden.
func served(rev *core.Revision, useCase, target int) bool {
	s := rev.Tables.Served
	return useCase >= len(s) || target >= len(s[useCase]) || s[useCase][target]
}

func computedState(s circuit.State) state {
	switch s {
	case circuit.Open:
		return stateBlocked
	case circuit.HalfOpen:
		return stateProbing
	default:
		return stateServing
	}
}

// circuitState is the effective state, or that somebody holds the circuit.
func circuitState(c *core.CircuitLive) state {
	if c.Held != nil || c.State != c.Computed {
		return stateHeld
	}
	return computedState(c.State)
}

func worst(row *targetRow) (effective, computed state) {
	effective, computed = stateServing, stateServing
	raise := func(s *state, to state) {
		if rank(to) < rank(*s) {
			*s = to
		}
	}
	for _, c := range row.Circuits {
		raise(&effective, c.State)
		raise(&computed, c.Computed)
	}
	if row.Live.Overridden {
		raise(&effective, stateHeld)
	}
	if row.Live.CoolingDown {
		raise(&effective, stateCooling)
	}
	if !row.Live.Healthy {
		raise(&effective, stateUnusable)
	}
	if effective == stateServing && row.Live.RequestsPerMinute == 0 {
		effective = stateQuiet
	}
	return effective, computed
}

func rank(s state) int { return slices.Index(states(), s) }

func sortWorstFirst(rows []targetRow) {
	slices.SortStableFunc(rows, func(a, b targetRow) int {
		if d := rank(a.State) - rank(b.State); d != 0 {
			return d
		}
		if d := a.Live.SuccessPermille - b.Live.SuccessPermille; d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// insteadOf says who answers for a target: by the last minute's requests, and
// without any by asking the policy about a request that names the target.
func (c *Console) insteadOf(t *core.Target, rev *core.Revision, now time.Time) instead {
	if target, permille := c.traffic.instead(t.ID, now); target != "" {
		return instead{Target: target, Permille: permille}
	}
	f := plainRequest(t)
	if _, ok := rev.Tables.UseCaseIndex(f.UseCase); !ok && len(rev.Tables.UseCases) > 0 {
		f.UseCase = rev.Tables.UseCases[0].ID
	}
	plan := c.cfg.Live.Plan(&f)
	if plan == nil || len(plan.Steps) == 0 {
		return instead{None: true}
	}
	if plan.Steps[0].Target == t.ID {
		return instead{}
	}
	return instead{Target: plan.Steps[0].Target}
}

// plainRequest names a target and asks for nothing special.
func plainRequest(t *core.Target) core.Facts {
	return core.Facts{
		UseCase: core.DefaultUseCase, Task: core.TaskSimple, Priority: core.DefaultPriority,
		Audience: core.AudiencePaid, Quality: core.QualityBalanced, LatencyBudgetMS: core.DefaultLatencyBudgetMS,
		InputTokens: 1000, Model: t.Model, Target: t.ID, Language: "en",
	}
}

// only keeps the targets of one state; "" keeps all.
func only(rows []targetRow, s state) []targetRow {
	if s == "" {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r targetRow) bool { return r.State != s })
}

// order lists the cards' names in their order.
func order(rows []targetRow) string {
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].Slug
	}
	return strings.Join(names, " ")
}

// overall is the worst level, for the title and the icon.
func (o *overview) overall() core.Level {
	level, all := core.Healthy, len(o.Levels) > 0
	for _, l := range o.Levels {
		if l.Level != core.Healthy {
			level = core.Degraded
		}
		all = all && l.Level == core.Unhealthy
	}
	if all {
		return core.Unhealthy
	}
	return level
}

// slug turns an id into a name that is safe in element ids and keys.
func slug(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, id)
}
