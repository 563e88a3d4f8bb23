package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/demovendor"
)

// TestTimeouts_OfPolicy holds that every time limit in the routing policy's data
// acts, and ends the attempt that it is about at its own time (R27: a setting
// that is read and used by nothing). The machine's limits, connect and write, are
// held by core/upstream, deadlines_test.go and cmd/server.
func TestTimeouts_OfPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		first, second demovendor.Step
		shipped, ms   int
		attempt       int // the one that it ends
		kind          core.Kind
	}{
		"first_content_ms": {demovendor.Silence(), demovendor.Step{}, 30_000, 2000, 0, core.KindTimeoutFirstContent},
		"next_content_ms":  {demovendor.Step{Status: 500}, demovendor.Silence(), 15_000, 1000, 1, core.KindTimeoutFirstContent},
		"idle_ms":          {demovendor.Step{End: demovendor.EndStall, After: 1}, demovendor.Step{}, 30_000, 3000, 0, core.KindTimeoutIdle},
		"total_ms": {
			demovendor.Step{Chunks: slices.Repeat([]string{"word "}, 1000), Gap: 900 * time.Millisecond}, demovendor.Step{},
			600_000, 5000, 0, core.KindTimeoutWhole,
		},
	} {
		for _, ms := range []int{tc.shipped, tc.ms} {
			t.Run(fmt.Sprint(name, "_", ms), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					n := newNetwork(t)
					n.vendorAt("o1", demovendor.WireOpenAI, nil).Always(tc.first)
					n.vendorAt("o2", demovendor.WireOpenAI, nil).Always(tc.second)
					cat := catalogOver(t, place{id: "o1", wire: core.WireOpenAI}, place{id: "o2", wire: core.WireOpenAI})
					r := newVirtualRig(t, n, cat, shippedWith(t,
						"config/routing/data.json", fmt.Sprintf(`"%s": %d`, name, tc.shipped), fmt.Sprintf(`"%s": %d`, name, ms)))
					r.ask(t, "/v1/chat/completions", strings.Replace(askChatStream, `"gpt"`, `"o1"`, 1))
					d := r.tape.decision(t, 1)
					if len(d.Attempts) <= tc.attempt {
						t.Fatalf("only %d attempts: %+v", len(d.Attempts), d.Attempts)
					}
					a := d.Attempts[tc.attempt]
					if want := time.Duration(ms) * time.Millisecond; a.Kind != tc.kind || a.Duration != want {
						t.Errorf("attempt %d ended with %v after %v, want %v after %v", tc.attempt+1, a.Kind, a.Duration, tc.kind, want)
					}
				})
			})
		}
	}
}
