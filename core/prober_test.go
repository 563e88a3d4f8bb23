package core_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/health"
)

// asked is one probe that a prober was asked for.
type asked struct {
	at        time.Duration
	node, key string
}

// prober answers probes by a script; without one it says 200 at once.
type prober struct {
	start  time.Time
	answer func(ctx context.Context, node, key string) (int, error)

	mu      sync.Mutex
	asked   []asked
	running map[string]int
	most    int // of them at one node at once
}

func newProber(answer func(ctx context.Context, node, key string) (int, error)) *prober {
	return &prober{start: time.Now(), answer: answer, running: map[string]int{}}
}

func (p *prober) Probe(ctx context.Context, _ *core.Provider, n *core.Node, k *core.Key) (int, error) {
	p.mu.Lock()
	p.asked = append(p.asked, asked{time.Since(p.start), n.ID, k.ID})
	p.running[n.ID]++
	p.most = max(p.most, p.running[n.ID])
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.running[n.ID]--
		p.mu.Unlock()
	}()
	if p.answer == nil {
		return 200, nil
	}
	return p.answer(ctx, n.ID, k.ID)
}

// all are the probes since the last look.
func (p *prober) all() []asked {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.asked
	p.asked = nil
	return out
}

// at are the times at which a node was probed.
func (p *prober) at(node string) []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []time.Duration
	for _, a := range p.asked {
		if a.node == node {
			out = append(out, a.at)
		}
	}
	return out
}

// silent answers no probe.
func silent(ctx context.Context, _, _ string) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// nodesRig is an engine over one provider with three nodes and two keys.
func nodesRig(t *testing.T, p core.Prober, change ...func(*core.Provider)) *rig {
	t.Helper()
	provider := core.Provider{
		ID: "p", Wire: core.WireOpenAI, Vendor: "v",
		Keys: []core.Key{{ID: "k1", Secret: core.NewSecret("s1")}, {ID: "k2", Secret: core.NewSecret("s2")}},
		Nodes: []core.Node{
			{ID: "a", BaseURL: "http://a", Weight: 5, Region: "eu"}, {ID: "b", BaseURL: "http://b", Weight: 3, Region: "eu"},
			{ID: "c", BaseURL: "http://c", Weight: 2, Region: "us"},
		},
	}
	for _, f := range change {
		f(&provider)
	}
	cat, err := core.NewCatalog([]core.Provider{provider}, []core.Target{{ID: "t", Provider: "p", Model: "m", ContextTokens: 200_000}})
	if err != nil {
		t.Fatal(err)
	}
	rev := core.DefaultRevision(cat)
	for u := range rev.Tables.Circuits {
		rev.Tables.Circuits[u][0].FailureThreshold = 1000 // nodes, not circuits, are tested here
	}
	tp := &tape{}
	e, err := core.New(core.Config{Revision: rev, Recorder: tp, Prober: p, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &rig{e, tp, rev}
}

func (r *rig) node(id string) core.NodeLive {
	for _, n := range r.Providers()[0].Nodes {
		if n.ID == id {
			return n
		}
	}
	return core.NodeLive{}
}

func TestProbes_InTheBackground(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newProber(nil)
		r := nodesRig(t, p)
		r.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, n := range []string{"a", "b", "c"} {
			at := p.at(n)
			if len(at) < 10 || len(at) > 13 || at[0] > 5*time.Second {
				t.Errorf("node %s was probed %d times in a minute, first at %v", n, len(at), at)
			}
			for i := 1; i < len(at); i++ {
				if gap := at[i] - at[i-1]; gap < 4900*time.Millisecond || gap > 5800*time.Millisecond {
					t.Errorf("node %s was probed after %v", n, gap)
				}
			}
			if v := r.node(n).Probes; v.Sent != len(at) || v.Good != len(at) {
				t.Errorf("node %s: %d probes, counted %+v", n, len(at), v)
			}
		}
		var keys []string
		for _, a := range p.all()[:4] {
			keys = append(keys, a.key)
		}
		if !slices.Equal(keys, []string{"k1", "k2", "k1", "k2"}) {
			t.Errorf("probed with %v, want the keys in turn", keys)
		}
		if r.tape.decisions != 0 || len(r.tape.transitions) != 0 || r.Snapshot().Targets[0].RequestsPerMinute != 0 {
			t.Error("probes were taken for traffic")
		}
		r.Close()
		p.all()
		time.Sleep(time.Minute)
		if r.Tick(); len(p.all()) != 0 {
			t.Error("a closed engine sends probes")
		}
	})
}

func TestProbes_ByTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newProber(func(context.Context, string, string) (int, error) {
			time.Sleep(time.Second)
			return 503, nil
		})
		r := nodesRig(t, p)
		for range 4 {
			r.Tick()
			time.Sleep(30 * time.Second)
		}
		// The first Tick finds one node due, each later one all three; each waits for
		// the answers.
		if got := p.all(); len(got) != 10 || got[0].at != 0 || got[9].at != 93*time.Second {
			t.Errorf("probed %+v", got)
		}
		if v := r.node("a").Probes; v.Bad != 4 || v.Last != health.ProbeBad {
			t.Errorf("counted %+v", v)
		}
	})
}

func TestProbes_Off(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newProber(nil)
		r := nodesRig(t, p, func(p *core.Provider) { p.NoProbes = true })
		r.Start()
		r.ask(t.Context(), "assistant", &vendor{script: map[string][]error{"t": {fails(core.KindConnect)}}})
		time.Sleep(time.Minute)
		nodesRig(t, nil).Tick()
		r.Close()
		if got := p.all(); len(got) != 0 {
			t.Errorf("probed %+v", got)
		}
		on := *r.rev
		on.Catalog = nodesRig(t, nil).rev.Catalog
		again := nodesRig(t, p, func(p *core.Provider) { p.NoProbes = true })
		if err := again.Activate(&on); err != nil {
			t.Fatal(err)
		}
		if again.Tick(); len(p.all()) == 0 {
			t.Error("a reload did not turn the probes on")
		}
	})
}

// A region that swallows connections is left although no call has come back
// from it yet, and a node that serves is not, whatever its probes say.
func TestProbes_BadOnes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newProber(silent)
		r := nodesRig(t, p)
		r.Start()
		serves := func(ctx context.Context, a *core.Attempt) (int, error) {
			if a.Node.ID == "a" {
				a.FirstContent()
				return 1, nil
			}
			<-ctx.Done()
			return 0, ctx.Err()
		}
		for range 100 { // a request in 300 ms, half of which go to a
			time.Sleep(300 * time.Millisecond)
			go func() { _, _ = core.Do(t.Context(), r.Engine, &core.Request{}, serves) }()
		}
		synctest.Wait()
		if a, b, c := r.node("a"), r.node("b"), r.node("c"); a.State != health.NodeUp || b.State == health.NodeUp || c.State == health.NodeUp {
			t.Errorf("after 30 s a is %v, b is %v, c is %v", a.State, b.State, c.State)
		}
		p.mu.Lock()
		if p.most != 1 {
			t.Errorf("%d probes of one node at once", p.most)
		}
		p.mu.Unlock()
		if v := r.node("a").Probes; v.Bad < 5 || v.Good+v.Invalid != 0 {
			t.Errorf("a's probes %+v, want all bad", v)
		}
		time.Sleep(15 * time.Minute) // the waiting requests end
	})
}

func TestProbes_GoodOneGrantsATrial(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var good atomic.Bool
		p := newProber(func(context.Context, string, string) (int, error) {
			if good.Load() {
				return 200, nil
			}
			return 503, nil
		})
		r := nodesRig(t, p)
		r.Start()
		down := func(_ context.Context, a *core.Attempt) (string, error) {
			if a.Node.ID == "a" {
				return "", &core.Error{Op: "call", Kind: core.KindConnect}
			}
			return a.Node.ID, nil
		}
		for time.Until(r.node("a").RestUntil) < 15*time.Second { // trial after trial fails
			if _, err := core.Do(t.Context(), r.Engine, &core.Request{}, down); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		good.Store(true)
		time.Sleep(6 * time.Second) // a probe comes before the rest's end
		synctest.Wait()
		if got := r.node("a").State; got != health.NodeTrial {
			t.Fatalf("got %v, want a trial", got)
		}
		trials := 0
		for range 20 {
			_, _ = core.Do(t.Context(), r.Engine, &core.Request{}, func(ctx context.Context, a *core.Attempt) (string, error) {
				if a.Node.ID == "a" {
					trials++
				}
				return down(ctx, a)
			})
		}
		if trials != 1 || r.node("a").State != health.NodeResting {
			t.Errorf("%d requests on trial, then %v", trials, r.node("a").State)
		}
	})
}

// A 401 at a probe takes nothing out of service, and does not stay hidden.
func TestProbes_RefusedKey(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newProber(func(_ context.Context, _, key string) (int, error) {
			if key == "k2" {
				return 401, nil
			}
			return 200, nil
		})
		r := nodesRig(t, p)
		r.Start()
		time.Sleep(20 * time.Second)
		got := r.Snapshot().Providers[0]
		if got.UsableKeys != 2 || got.RefusedKeys() != 1 || got.KeyList[0].Refused() || !got.KeyList[1].Refused() || got.KeyList[1].ProbeStatus != 401 {
			t.Errorf("got %+v", got.KeyList)
		}
		if v := r.node("a"); v.State != health.NodeUp || v.Probes.Invalid == 0 || len(r.tape.keys) != 0 {
			t.Errorf("got %+v, events %+v", v, r.tape.keys)
		}
		if err := r.SetKey("p", "k2", false, "op", "test"); err != nil {
			t.Fatal(err)
		}
		p.all()
		time.Sleep(20 * time.Second)
		for _, a := range p.all() {
			if a.key != "k1" {
				t.Errorf("probed with %s, which was taken out by hand", a.key)
			}
		}
		if err := r.SetKey("p", "k1", false, "op", "test"); err != nil {
			t.Fatal(err)
		}
		p.all()
		time.Sleep(20 * time.Second)
		if len(p.all()) != 0 || r.node("a").State != health.NodeUp {
			t.Error("probed without a key, or judged the node for it")
		}
	})
}

// Closing ends probes that run, whose results count for nothing.
func TestProbes_CloseEndsThem(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ended := 0
		p := newProber(func(ctx context.Context, _, _ string) (int, error) {
			<-ctx.Done()
			ended++
			return 0, errors.New("late")
		})
		r := nodesRig(t, p)
		r.Start()
		time.Sleep(time.Second)
		before := time.Now()
		if r.Close(); ended != 1 || time.Since(before) != 0 {
			t.Errorf("%d probes had ended when Close returned, after %v", ended, time.Since(before))
		}
		if v := r.node("a").Probes; v.Sent != 1 || v.Ended() != 0 {
			t.Errorf("counted %+v", v)
		}
	})
}
