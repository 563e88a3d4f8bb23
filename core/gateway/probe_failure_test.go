package gateway_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/demovendor"
)

// listed counts the probes of one vendor and answers them by a script.
type listed struct {
	vendor *demovendor.Vendor
	answer http.HandlerFunc

	sent, open, most, cut atomic.Int64
}

// ServeHTTP passes on what is no probe.
func (l *listed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/models" {
		l.vendor.ServeHTTP(w, r)
		return
	}
	l.sent.Add(1)
	if n := l.open.Add(1); n > l.most.Load() {
		l.most.Store(n)
	}
	defer l.open.Add(-1)
	l.answer(w, r)
	if r.Context().Err() != nil {
		l.cut.Add(1)
	}
}

func (n *network) listedAt(host string, answer http.HandlerFunc) *listed {
	v := demovendor.New(demovendor.Config{Wire: demovendor.WireOpenAI, Models: []demovendor.Model{{Name: "m"}}})
	l := &listed{vendor: v, answer: answer}
	n.serve(host, l)
	return l
}

// pageOf is what /health says in the cases of nodes and keys.
type pageOf struct {
	Models map[string]struct {
		Healthy bool
		Reason  string
	}
	Providers map[string]struct {
		Nodes []struct {
			ID, State string
			Probes    struct{ Sent, Good, Bad, Invalid int }
		}
		Keys struct {
			Usable, Total, Refused int
			Low                    bool
		}
	}
}

func (r *rig) health(t testing.TB) pageOf {
	t.Helper()
	return decode[pageOf](t, r.do(t, http.MethodGet, "/health", nil))
}

// probeFailure is field failure R57: O refuses probes with 400 and serves; O2
// lists its models and answers 503 to everything else; O3 serves, and takes 30 s
// for a probe. Probes run for 10 minutes beside a request a second to each.
type probeFailure struct {
	*rig
	o, o2, o3 *listed
	asked     int
}

func newProbeFailure(t *testing.T) *probeFailure {
	n := newNetwork(t)
	s := &probeFailure{
		o:  n.listedAt("o", says(400, `{"error":{"message":"max_tokens must be at least 16"}}`)),
		o2: n.listedAt("o2", says(200, `{"object":"list","data":[]}`)),
		o3: n.listedAt("o3", func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(30 * time.Second):
				says(200, `{"object":"list","data":[]}`)(w, r)
			case <-r.Context().Done():
			}
		}),
	}
	s.o2.vendor.Always(demovendor.Step{Status: 503})
	cat := catalogOver(t, place{id: "o", wire: core.WireOpenAI}, place{id: "o2", wire: core.WireOpenAI}, place{id: "o3", wire: core.WireOpenAI})
	s.rig = newVirtualRig(t, n, cat, shippedWith(t), setup{probes: true})
	return s
}

// second sends a request to each and lets the rest of the second pass.
func (s *probeFailure) second(t *testing.T) {
	t.Helper()
	end := time.After(time.Second)
	var wg sync.WaitGroup
	for _, model := range []string{"o", "o2", "o3"} {
		s.asked++
		wg.Go(func() {
			got := s.ask(t, "/v1/chat/completions", strings.Replace(askChat, `"gpt"`, `"`+model+`"`, 1))
			if got.status != 200 {
				t.Errorf("a request to %s was answered with %d: %s", model, got.status, got.body)
			}
		})
	}
	wg.Wait()
	<-end
}

func TestProbeFailure(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newProbeFailure(t)
		for i := range 600 {
			s.second(t)
			page := s.health(t)
			for _, p := range []string{"o", "o3"} {
				if got := page.Providers[p].Nodes[0].State; got != "up" || !page.Models[p].Healthy {
					t.Fatalf("after %d s %s, which serves, is %s and %+v", i, p, got, page.Models[p])
				}
			}
			if m := page.Models["o2"]; i > 10 && m.Healthy {
				t.Fatalf("after %d s o2, which serves nothing, is called healthy", i)
			}
		}
		s.checkProbes(t, s.health(t))
		s.checkTraffic(t)
		s.engine.Close()
	})
}

// checkProbes holds that ten minutes are some 115 probes a node, one at a time.
func (s *probeFailure) checkProbes(t *testing.T, page pageOf) {
	t.Helper()
	for name, l := range map[string]*listed{"o": s.o, "o2": s.o2, "o3": s.o3} {
		counted := page.Providers[name].Nodes[0].Probes
		if sent := l.sent.Load(); sent < 100 || sent > 121 || l.most.Load() != 1 || int64(counted.Sent) != sent {
			t.Errorf("%s got %d probes, %d at once, and %+v were counted", name, sent, l.most.Load(), counted)
		}
		want := counted
		want.Good, want.Bad, want.Invalid = 0, 0, 0
		switch name {
		case "o":
			want.Invalid = want.Sent
		case "o2":
			want.Good = want.Sent
		case "o3":
			want.Bad = counted.Bad
			if counted.Bad < want.Sent-1 || s.o3.cut.Load() < int64(want.Sent-1) {
				t.Errorf("o3's slow probes: %+v, %d were ended by their limit", counted, s.o3.cut.Load())
			}
		}
		if counted != want {
			t.Errorf("%s: counted %+v, want %+v", name, counted, want)
		}
	}
}

// checkTraffic holds that probes are in nobody's record, usage or bill.
func (s *probeFailure) checkTraffic(t *testing.T) {
	t.Helper()
	attempts := map[string]int{}
	for i := range s.asked {
		d := s.tape.decision(t, i+1)
		for _, a := range d.Attempts {
			attempts[a.Target]++
		}
		if d.Facts.Target == "o3" && d.Target != "o3" || d.Facts.Target == "o" && d.Target != "o" {
			t.Fatalf("a request to %s was answered by %s", d.Facts.Target, d.Target)
		}
	}
	if len(s.tape.decisions) != s.asked || s.asked != 1800 {
		t.Errorf("%d decisions of %d requests", len(s.tape.decisions), s.asked)
	}
	for name, l := range map[string]*listed{"o": s.o, "o2": s.o2, "o3": s.o3} {
		if got := hits(l.vendor); got != attempts[name] {
			t.Errorf("%s was asked for %d answers in %d recorded attempts", name, got, attempts[name])
		}
	}
}

// TestProbeFailure_NobodyServes holds the other side: bad probes do take out a
// node that shows no sign of life, and a good one gives it one request.
func TestProbeFailure_NobodyServes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNetwork(t)
		var dead atomic.Bool
		dead.Store(true)
		l := n.listedAt("o", func(w http.ResponseWriter, r *http.Request) {
			if dead.Load() {
				<-r.Context().Done()
			}
		})
		r := newVirtualRig(t, n, catalogOver(t, place{id: "o", wire: core.WireOpenAI}), setup{probes: true})
		<-time.After(15 * time.Second)
		if got := r.health(t).Providers["o"].Nodes[0]; got.State != "resting" || got.Probes.Bad != 3 {
			t.Errorf("after 15 s %+v", got)
		}
		dead.Store(false)
		<-time.After(2 * time.Second) // the rest would last longer
		if got := r.health(t).Providers["o"].Nodes[0]; got.State != "trial" {
			t.Errorf("after a good probe %+v", got)
		}
		if got := r.ask(t, "/v1/chat/completions", strings.Replace(askChat, `"gpt"`, `"o"`, 1)); got.status != 200 || hits(l.vendor) != 1 {
			t.Errorf("%d: %s", got.status, got.body)
		}
		if got := r.health(t).Providers["o"].Nodes[0]; got.State != "up" {
			t.Errorf("after an answer %+v", got)
		}
		r.engine.Close()
	})
}
