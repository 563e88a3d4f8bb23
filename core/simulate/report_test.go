package simulate_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core/simulate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample is a report with a bit of everything.
func sample() *simulate.Report {
	series := make([]simulate.Bucket, 100)
	for i := range series {
		series[i] = simulate.Bucket{Requests: 10, Calls: 10 + i%7, Lost: max(0, i-90)}
	}
	states := strings.Repeat(".", 50) + strings.Repeat("#", 30) + strings.Repeat("o", 20)
	return &simulate.Report{
		Scenario: "sample", Title: `Tags <b> & "quotes"`, Text: "A text long enough to be wrapped, with a figure of 40\u00a0% that stays on one line with its unit, and a word after that.\nA second paragraph.",
		Seed: 7, DurationS: 200, BucketS: 2, AvailabilityGoalPercent: 99.95,
		Phases: []simulate.PhaseSpan{{Name: "down", FromS: 100, ToS: 500}},
		Results: []simulate.Result{
			{
				Name: "circuit only", Note: "one", Requests: 1000, Answered: 955, Refused: 40, Failed: 5, LossPercent: 4.5, AvailabilityPercent: 95.5,
				Calls: 1300, Amplification: 1.3, Retries: 12, CostUSD: 1.5, CostKnown: true, P50MS: 900, P95MS: 12_345,
				UseCases:   []simulate.Part{{UseCase: "assistant", Requests: 900, Answered: 860, Refused: 40}, {UseCase: "batch", Requests: 100, Answered: 95, Failed: 5}},
				Losses:     []simulate.Loss{{Kind: "overloaded", Count: 5}, {Kind: "no_target", Count: 40}},
				Departures: []simulate.Leaving{{Phase: "down", Left: true, AfterS: 12, LaterCalls: 3, LaterPercent: 0.25}, {Phase: "again"}},
				Circuits:   []simulate.Strip{{UseCase: "assistant", Target: "opus", States: states}, {UseCase: "batch", Target: "sonnet-5", States: states}},
				Series:     series,
				Timeline: []simulate.Change{
					{AtS: 100, UseCase: "assistant", Target: "opus", From: "closed", To: "open", Cause: "overloaded"},
					{AtS: 101.5, UseCase: "batch", Target: "sonnet-5", From: "closed", To: "open", Cause: "overloaded"},
					{AtS: 160, UseCase: "assistant", Target: "opus", From: "open", To: "half_open", Cause: "time"},
					{AtS: 160.25, UseCase: "assistant", Target: "opus", From: "half_open", To: "closed", Cause: "probes"},
					{AtS: 250, UseCase: "batch", Target: "sonnet-5", From: "open", To: "half_open", Cause: "time"},
				},
			},
			{Name: "mine", Note: "two", Requests: 1000, Answered: 1000, AvailabilityPercent: 100, Calls: 1000, Amplification: 1, Series: series},
		},
	}
}

// TestReport_Golden holds what the report is written as.
func TestReport_Golden(t *testing.T) {
	t.Parallel()
	r := sample()
	for name, write := range map[string]func(io.Writer) error{
		"sample.txt": r.WriteTable, "sample.json": r.WriteJSON, "sample.svg": r.WriteSVG, "retry-budget.txt": simulate.WriteRetryBudgetTable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			if err := write(&got); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
			}
			if err := write(failing{}); !errors.Is(err, errFull) {
				t.Errorf("a writer that fails gave %v", err)
			}
		})
	}
}

var errFull = errors.New("disk full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// The columns of the table stand under one another.
func TestReport_TableIsAligned(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := sample().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(b.String(), "\n")[3:6]
	for _, r := range rows {
		if len(r) != len(rows[0]) || strings.HasPrefix(r, "  ") && r != rows[0] {
			t.Errorf("rows\n%s", strings.Join(rows, "\n"))
		}
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(line)); strings.HasPrefix(line, "A text") && n > 101 {
			t.Errorf("%d characters in %q", n, line)
		}
	}
}

func TestReport_SVGIsXML(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := sample().WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	elements := map[string]int{}
	for dec := xml.NewDecoder(&b); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			elements[e.Name.Local]++
		}
	}
	// Curves: two each, and the requests. Rectangles: the ground, two of the
	// legend, a band in each of three panels, three of the circuits' states.
	if elements["svg"] != 1 || elements["title"] != 1 || elements["polyline"] != 5 || elements["rect"] != 1+2+3+3 {
		t.Errorf("elements %v", elements)
	}
}

func TestReport_JSONHoldsTheFigures(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	r := sample()
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back simulate.Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if indented(t, back) != indented(t, r) {
		t.Errorf("read back %s", indented(t, back))
	}
}

func TestReport_Timing(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Results[0].Timing = simulate.Timing{Whole: 4 * time.Second, Policy: 3 * time.Second, Plans: 20, Snapshots: 10}
	var b strings.Builder
	if err := r.WriteTiming(&b); err != nil {
		t.Fatal(err)
	}
	want := "circuit only: 1000 requests in 4.00 s, 75 % of it in policy: 20 plans, 10 snapshots\n" +
		"mine: 1000 requests in 0.00 s, 0 % of it in policy: 0 plans, 0 snapshots\n"
	if b.String() != want {
		t.Errorf("got %q\nwant %q", b.String(), want)
	}
	if err := r.WriteTiming(failing{}); !errors.Is(err, errFull) {
		t.Errorf("a writer that fails gave %v", err)
	}
}
