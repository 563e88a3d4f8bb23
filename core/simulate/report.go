package simulate

import (
	"encoding/json"
	"io"
	"time"
)

// availabilityGoal is R8.3's, in percent.
const availabilityGoal = 99.95

// buckets is how many pieces a scenario's duration is cut in for charts.
const buckets = 100

// Report is a scenario's outcome under every contender.
type Report struct {
	Scenario  string  `json:"scenario"`
	Title     string  `json:"title"`
	Text      string  `json:"text"`
	Seed      uint64  `json:"seed"`
	DurationS float64 `json:"duration_s"`
	// BucketS is the width of the results' series.
	BucketS                 float64     `json:"bucket_s"`
	AvailabilityGoalPercent float64     `json:"availability_goal_percent"`
	Phases                  []PhaseSpan `json:"phases"`
	Results                 []Result    `json:"results"`
}

// PhaseSpan is when a phase was on.
type PhaseSpan struct {
	Name  string  `json:"name"`
	FromS float64 `json:"from_s"`
	ToS   float64 `json:"to_s"`
}

// Result is what one contender made of a scenario. Figures are rounded as shown.
type Result struct {
	Name     string `json:"name"`
	Note     string `json:"note"`
	Revision string `json:"revision"`
	Requests int    `json:"requests"`
	Answered int    `json:"answered"`
	// Refused requests met no vendor at all, Failed ones at least one. Nothing is
	// ticketed yet, so both are lost.
	Refused int `json:"refused"`
	Failed  int `json:"failed"`
	// LossPercent is the refused and failed of all requests.
	LossPercent         float64 `json:"loss_percent"`
	AvailabilityPercent float64 `json:"availability_percent"`
	// Calls are attempts at vendors; Amplification is calls per request.
	Calls         int     `json:"calls"`
	Amplification float64 `json:"amplification"`
	// Retries are calls at the target that the call before was at; RetriesDenied
	// are those that a retry budget refused.
	Retries       int `json:"retries"`
	RetriesDenied int `json:"retries_denied"`
	// CostUSD is what all calls cost; CostKnown is false when a price or usage is missing.
	CostUSD   float64 `json:"cost_usd"`
	CostKnown bool    `json:"cost_known"`
	// The latencies are those of answered requests, from arrival on.
	P50MS             float64   `json:"p50_ms"`
	P95MS             float64   `json:"p95_ms"`
	FirstContentP50MS float64   `json:"first_content_p50_ms"`
	FirstContentP95MS float64   `json:"first_content_p95_ms"`
	UseCases          []Part    `json:"use_cases"`
	Losses            []Loss    `json:"losses"`
	Departures        []Leaving `json:"departures"`
	Timeline          []Change  `json:"timeline"`
	Circuits          []Strip   `json:"circuits"`
	Series            []Bucket  `json:"series"`
	// Timing is in real time and differs from run to run; it is in no output but [Report.WriteTiming]'s.
	Timing Timing `json:"-"`
}

// Part is one use case's share of a result.
type Part struct {
	UseCase  string `json:"use_case"`
	Requests int    `json:"requests"`
	Answered int    `json:"answered"`
	Refused  int    `json:"refused"`
	Failed   int    `json:"failed"`
}

// Loss counts the requests lost to one failure kind.
type Loss struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Leaving is how a dead phase's calls ended. The traffic has left when, of the
// calls of the last ten seconds, at most 5 % went there; engines go on trying
// now and then, or they would not find it alive again.
type Leaving struct {
	Phase string `json:"phase"`
	Left  bool   `json:"left"`
	// AfterS counts from the phase's start, in whole seconds.
	AfterS int `json:"after_s"`
	// LaterCalls are those that went there after that, LaterPercent their share.
	LaterCalls   int     `json:"later_calls"`
	LaterPercent float64 `json:"later_percent"`
}

// Change is a circuit's change of state.
type Change struct {
	AtS     float64 `json:"at_s"`
	UseCase string  `json:"use_case"`
	Target  string  `json:"target"`
	From    string  `json:"from"`
	To      string  `json:"to"`
	Cause   string  `json:"cause"`
}

// Strip is one circuit's states over the scenario's duration, a letter for each
// piece of it: the worst state that it had then, "." closed, "o" half-open,
// "#" open. Circuits that never moved have none.
type Strip struct {
	UseCase string `json:"use_case"`
	Target  string `json:"target"`
	States  string `json:"states"`
}

// Bucket counts the requests that arrived in one piece of the time.
type Bucket struct {
	Requests int `json:"requests"`
	Lost     int `json:"lost"`
	Calls    int `json:"calls"`
}

// Timing is the real time of a run; all 0 without [Options.Stopwatch].
type Timing struct {
	Whole  time.Duration
	Policy time.Duration
	// Plans were evaluated, Snapshots made ready.
	Plans, Snapshots int
}

// PolicyPercent is the share of the real time spent in policy.
func (t Timing) PolicyPercent() float64 {
	if t.Whole <= 0 {
		return 0
	}
	return 100 * float64(t.Policy) / float64(t.Whole)
}

// WriteJSON writes the report as indented JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func phaseSpans(s *Scenario) []PhaseSpan {
	spans := []PhaseSpan{}
	for _, p := range s.Phases {
		spans = append(spans, PhaseSpan{p.Name, p.FromS, p.ToS})
	}
	return spans
}
