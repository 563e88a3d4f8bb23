package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/bench/proxy"
)

// TestMain lets the test binary stand in for the programs that bench starts:
// its own children, and a server that is nothing but the proxy.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if child, ok := children()[os.Args[1]]; ok {
			exit(child(os.Args[2:]))
		}
		switch os.Args[1] {
		case "keys":
			fmt.Println("a-key\n\nThis is the only time the key is shown.")
			os.Exit(0)
		case "--config":
			exit(standIn(os.Args[1:]))
		}
	}
	os.Exit(m.Run())
}

// standIn is the server of the tests: it passes on what comes with the right key.
func standIn(args []string) error {
	flags := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		flags[args[i]] = args[i+1]
	}
	config, err := os.ReadFile(flags["--config"])
	if err != nil {
		return err
	}
	vendor, err := url.Parse(regexp.MustCompile(`http://[0-9.:]+`).FindString(string(config)))
	if err != nil {
		return err
	}
	front := proxy.New(vendor, true)
	ln, err := net.Listen("tcp", flags["--listen"])
	if err != nil {
		return err
	}
	ready := fmt.Sprintf(`{"gateway":"http://%s"}`, ln.Addr())
	if err := os.WriteFile(flags["--ready-file"], []byte(ready), 0o600); err != nil {
		return err
	}
	return http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer a-key" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		front.ServeHTTP(w, r)
	}))
}

// TestWholeRun measures everything once, briefly, with the stand-in.
func TestWholeRun(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "samples.json")
	if err := bench([]string{"-server", self, "-rounds", "1", "-window", "100ms", "-warmup", "50ms", "-rate", "200", "-repeats", "0", "-json", file}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var samples []sample
	if err := json.Unmarshal(b, &samples); err != nil {
		t.Fatal(err)
	}
	if want := 2 + 2 + 3 + 2; len(samples) != want {
		t.Fatalf("%d samples, want %d: two subjects in four phases, and the mock in one", len(samples), want)
	}
	for _, s := range samples {
		if s.OK == 0 || s.Broken != 0 || s.P50 <= 0 || s.P99 < s.P50 {
			t.Errorf("%s of %s: %+v, want whole answers only", s.Phase, s.Subject, s)
		}
	}
}

func TestFortyKindsDiffer(t *testing.T) {
	t.Parallel()
	seen, prompts := map[string]bool{}, map[string]bool{}
	paths := map[string]int{}
	for _, k := range fortyKinds() {
		if !json.Valid(k.body) {
			t.Errorf("body %s is no JSON", k.body)
		}
		seen[strings.Join(k.header, "\n")+string(k.body)] = true
		_, prompt, _ := strings.Cut(string(k.body), `"messages"`)
		prompts[prompt] = true
		paths[k.path]++
	}
	if len(seen) != 40 || len(prompts) != 40 || paths[claudePath] != 24 || paths[gptPath] != 16 {
		t.Errorf("%d different kinds with %d prompts on %v, want 40 of each on both formats", len(seen), len(prompts), paths)
	}
}

func TestKindCarriesKeyAndFormat(t *testing.T) {
	t.Parallel()
	r := oneKind(true)[0].request("host:1", "k", 2, nil)
	for _, want := range []string{"POST /v1/messages HTTP/1.1\r\n", "Host: host:1\r\n", "Authorization: Bearer k\r\n", "Anthropic-Version: ", `"stream":true`} {
		if !bytes.Contains(r.Bytes, []byte(want)) {
			t.Errorf("request %q lacks %q", r.Bytes, want)
		}
	}
	if bytes.Contains(oneKind(false)[0].request("host:1", "", 0, nil).Bytes, []byte("Authorization")) {
		t.Error("a request without a key has an Authorization header")
	}
}

// figures makes a phase's samples: processor time of proxy and gateway by round.
func figures(limit float64, pairs ...[2]float64) result {
	r := result{phase: phase{name: "p", limit: limit, kinds: oneKind(false)}}
	for round, pair := range pairs {
		r.samples = append(r.samples,
			sample{Subject: "proxy", Round: round, CPU: pair[0], OK: 1}, sample{Subject: "spillway", Round: round, CPU: pair[1], OK: 1})
	}
	return r
}

func TestRatioIsTakenRoundByRound(t *testing.T) {
	t.Parallel()
	// The second round was troubled: both took twice as long.
	got := figures(1, [2]float64{100, 80}, [2]float64{200, 160}, [2]float64{100, 90}).ratio()
	if want := (spread{0.8, 0.8, 0.9}); got != want {
		t.Errorf("ratio %+v, want %+v", got, want)
	}
	if got := spreadOf([]float64{4, 1, 3, 2}); got != (spread{2.5, 1, 4}) {
		t.Errorf("spread of 1 to 4 is %+v", got)
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	good, bad, broken := figures(1, [2]float64{100, 100}), figures(1, [2]float64{100, 101}), figures(1, [2]float64{100, 50})
	broken.samples[1].Broken = 3
	refused, moving := figures(1, [2]float64{100, 50}), figures(1, [2]float64{100, 50})
	refused.samples[1].Refused = 2
	moving.samples[1].OK, moving.samples[1].Refused, moving.phase.mock.ErrorShare = 99, 1, 0.01
	for _, c := range []struct {
		r    result
		want int
	}{{good, 0}, {bad, 1}, {broken, 1}, {refused, 1}, {moving, 0}} {
		if over := overLimit([]result{c.r}); len(over) != c.want {
			t.Errorf("%+v is over its limit: %v, want %d findings", c.r.samples, over, c.want)
		}
	}
}

func TestReportNamesEverything(t *testing.T) {
	t.Parallel()
	over := figures(1, [2]float64{100, 150})
	over.samples[0].Foreign = 0.5
	latency := figures(2, [2]float64{100, 110})
	latency.phase.rate = 500
	latency.samples = append(latency.samples, sample{Subject: "mock", P50: 100, P99: 200})
	var b bytes.Buffer
	report(&b, options{rounds: 1, window: time.Second}, []result{over, latency})
	for _, want := range []string{"1.50 (1.50–1.50)", "OVER", "ok", "requests/s", "resident MB", "added p50", "added p99", "1 of 5 measurements were disturbed"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"extra"}, {"-rounds", "0"}, {"-window", "0s"}, {"-rate", "0"}, {"-nonsense"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
	o, err := parse(nil)
	if err != nil || o.rounds != 3 || o.rate != 500 || o.root != ".." {
		t.Errorf("defaults %+v, %v", o, err)
	}
	if n := len(phases(o)); n != 4 {
		t.Errorf("%d phases, want 4", n)
	}
	o.only = "streams"
	if n := len(phases(o)); n != 1 {
		t.Errorf("%d phases of streams, want 1", n)
	}
}
