package transport_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/transport"
	"github.com/spillway-llm/spillway/core/upstream"
)

// pair starts the vendors of both formats: own answers by the first script.
func pair(t *testing.T, own int, script, other http.HandlerFunc) (vendors [2]*vendor) {
	t.Helper()
	vendors[own], vendors[1-own] = newVendor(t, script), newVendor(t, other)
	return vendors
}

func fails(t *testing.T) http.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) { t.Error("the other vendor was called") }
}

func TestRoundTrip_Whole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, _ int) {
		v := pair(t, own, says(200, f.answer), fails(t))
		r := newRig(t, v[0], v[1])
		got := r.ask(t, f.path, f.ask)
		if got.StatusCode != 200 || got.text != f.answer || got.err != nil {
			t.Fatalf("%d %q %v, want the vendor's own bytes", got.StatusCode, got.text, got.err)
		}
		if got.ContentLength != int64(len(f.answer)) || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("length %d, header %v", got.ContentLength, got.Header)
		}
		d := r.tape.only(t)
		for name, want := range map[string]string{
			"Spillway-Decision": d.ID, f.idHeader: d.ID, "Spillway-Target": d.Target, "Spillway-Fallback": "false",
			"Spillway-Attempts": "1; " + d.Target, "Spillway-Policy": d.Revision, "X-Should-Retry": "",
		} {
			if h := got.Header.Get(name); h != want {
				t.Errorf("%s = %q, want %q", name, h, want)
			}
		}
		if d.Outcome != core.KindNone || d.Status != 200 || d.Path != f.path || d.Usage.Output != 5 || !d.CostKnown {
			t.Errorf("decision %+v", d)
		}
		if d.Facts.UseCase != core.DefaultUseCase || d.Facts.Audience != core.AudienceAdmin || d.Facts.Priority != core.DefaultPriority {
			t.Errorf("facts %+v", d.Facts)
		}
	})
}

// No credential of the SDK's reaches a vendor, not even its own one; each gets
// its own key from the catalog (R47).
func TestRoundTrip_Credentials(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, other int) {
		v := pair(t, own, says(529, `{}`), says(200, formats()[other].answer))
		r := newRig(t, v[0], v[1])
		got := r.ask(t, f.path, f.ask, "Api-Key", sdkKey, "Cookie", sdkKey, "Anthropic-Beta", "own-only", "Openai-Organization", "org-1")
		if got.StatusCode != 200 || got.Header.Get("Spillway-Fallback") != "true" {
			t.Fatalf("%d %s", got.StatusCode, got.text)
		}
		for i, name := range []string{"anthropic", "openai"} {
			hits := v[i].seen()
			if len(hits) != 1 {
				t.Fatalf("%s was called %d times", name, len(hits))
			}
			h := hits[0].header
			if key := h.Get("X-Api-Key") + strings.TrimPrefix(h.Get("Authorization"), "Bearer "); key != "key of "+name {
				t.Errorf("%s was called with the key %q", name, key)
			}
			for field, values := range h {
				if strings.Contains(strings.Join(values, " "), sdkKey) {
					t.Errorf("%s saw the SDK's credential in %s", name, field)
				}
			}
			if h.Get("Openai-Organization") != "" {
				t.Errorf("%s saw a header that is not on the list", name)
			}
			if seen := h.Get("Anthropic-Beta"); (seen != "") != (own == 0 && i == 0) {
				t.Errorf("%s saw the beta header %q", name, seen)
			}
		}
	})
}

func TestRoundTrip_OtherVendorAnswers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, other int) {
		v := pair(t, own, says(529, `{}`), says(200, formats()[other].answer))
		r := newRig(t, v[0], v[1])
		got := r.ask(t, f.path, f.ask)
		want := map[int]string{0: `"type":"message"`, 1: `"object":"chat.completion"`}[own]
		if got.StatusCode != 200 || !strings.Contains(got.text, want) || !strings.Contains(got.text, "Hello") {
			t.Fatalf("%d %s, want the answer in the SDK's own format", got.StatusCode, got.text)
		}
		d := r.tape.only(t)
		if len(d.Attempts) != 2 || d.Attempts[0].Kind != core.KindOverloaded || d.Situation != core.SituationFallback {
			t.Errorf("decision %+v", d)
		}
	})
}

// The error keeps the SDK from a retry, whatever its own settings (R4.5).
func TestRoundTrip_Exhausted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, _ int) {
		for _, ask := range []string{f.ask, f.askStream} {
			v := pair(t, own, says(503, `{}`, "Retry-After", "7"), says(503, `{}`))
			r := newRig(t, v[0], v[1])
			got := r.ask(t, f.path, ask)
			if got.StatusCode != 529 && got.StatusCode != 503 || !strings.Contains(got.text, f.failure) {
				t.Errorf("%d %s", got.StatusCode, got.text)
			}
			if got.Header.Get("X-Should-Retry") != "false" || got.Header.Get(f.idHeader) != r.tape.only(t).ID {
				t.Errorf("header %v", got.Header)
			}
			for _, step := range []string{"claude: overloaded (503)", "gpt: overloaded (503)"} {
				if !strings.Contains(got.text, step) {
					t.Errorf("%q is not told in %s", step, got.text)
				}
			}
		}
	})
}

func TestRoundTrip_Throttled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, _ int) {
		v := pair(t, own, says(429, `{}`, "Retry-After", "40"), fails(t))
		r := newRig(t, v[0], v[1])
		got := r.ask(t, f.path, f.ask)
		if got.StatusCode != 429 || got.Header.Get("Retry-After") != "40" || got.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%d %v", got.StatusCode, got.Header)
		}
	})
}

// What never reaches the engine is answered in the SDK's format, without a call.
func TestRoundTrip_Refused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f format, own, _ int) {
		v := pair(t, own, fails(t), fails(t))
		r := newRig(t, v[0], v[1], func(c *transport.Config) { c.MaxBody = 200 })
		for _, tt := range []struct {
			name, body string
			header     []string
			status     int
			says       string
		}{
			{"no_json", `{"model":`, nil, 400, "JSON"},
			{"empty", ``, nil, 400, "empty"},
			{"too_long", f.ask + strings.Repeat(" ", 200), nil, 413, "200 bytes"},
			{"model", strings.NewReplacer(`"claude"`, `"claud"`, `"gpt"`, `"gp"`).Replace(f.ask), nil, 404, "nearest are"},
			{"responses", `{"model":"gpt","max_tokens":1,"input":"hi"}`, nil, 400, "messages"},
			{"header", f.ask, []string{"Spillway-Priority", "11"}, 400, "Spillway-Priority"},
			{"use_case", f.ask, []string{"Spillway-Use-Case", "nonsense"}, 400, "batch"},
		} {
			got := r.ask(t, f.path, tt.body, tt.header...)
			if got.StatusCode != tt.status || !strings.Contains(got.text, tt.says) || !strings.Contains(got.text, f.failure) {
				t.Errorf("%s: %d %s, want %d with %q", tt.name, got.StatusCode, got.text, tt.status, tt.says)
			}
			if got.Header.Get("X-Should-Retry") != "false" {
				t.Errorf("%s: header %v", tt.name, got.Header)
			}
		}
		if n := r.tape.count(); n != 0 {
			t.Errorf("%d decisions were recorded", n)
		}
	})
}

// base answers what the transport doesn't understand.
type base struct{ seen []*http.Request }

func (b *base) RoundTrip(r *http.Request) (*http.Response, error) {
	b.seen = append(b.seen, r)
	return &http.Response{StatusCode: 204, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

func TestRoundTrip_PassedOn(t *testing.T) {
	t.Parallel()
	v := pair(t, 0, fails(t), fails(t))
	for _, tt := range []struct{ method, url string }{
		{"GET", "https://vendor.example/v1/models"},
		{"GET", "https://vendor.example/v1/messages"},
		{"POST", "https://vendor.example/v1/messages/count_tokens"},
		{"POST", "https://vendor.example/v1/messages/batches"},
		{"POST", "https://vendor.example/v1/threads/t1/messages"},
		{"POST", "https://vendor.example/v1/responses"},
		{"DELETE", "https://vendor.example/v1/chat/completions"},
	} {
		b := &base{}
		r := newRig(t, v[0], v[1], func(c *transport.Config) { c.Base = b })
		req, err := http.NewRequestWithContext(t.Context(), tt.method, tt.url, strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", sdkKey)
		res, err := r.transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.seen) != 1 || b.seen[0] != req || res.StatusCode != 204 {
			t.Errorf("%s %s: not passed on as it came", tt.method, tt.url)
		}
	}
}

// Bodies of other shapes of base URLs are understood by their path's end.
func TestRoundTrip_Paths(t *testing.T) {
	t.Parallel()
	for path, format := range map[string]int{
		"/proxy/v1/messages": 0, "/v1/messages?beta=true": 0, "/openai/deployments/d/chat/completions?api-version=1": 1,
	} {
		f := formats()[format]
		v := pair(t, format, says(200, f.answer), fails(t))
		r := newRig(t, v[0], v[1])
		if got := r.ask(t, path, f.ask); got.StatusCode != 200 || r.tape.only(t).Path != f.path {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
}

// closer is a request's body that notes its closing.
type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }

// A RoundTripper closes the body always, and never changes the request.
func TestRoundTrip_RequestBody(t *testing.T) {
	t.Parallel()
	f := formats()[0]
	v := pair(t, 0, says(200, f.answer), fails(t))
	r := newRig(t, v[0], v[1])
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		body io.Reader
		want error
	}{
		"whole":   {strings.NewReader(f.ask), nil},
		"refused": {strings.NewReader("{"), nil},
		"broken":  {io.MultiReader(strings.NewReader(f.ask[:9]), failing{broken}), broken},
	} {
		b := &closer{Reader: tt.body}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://vendor.example/v1/messages", b)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", sdkKey)
		res, err := r.transport.RoundTrip(req)
		if !errors.Is(err, tt.want) || (err == nil) != (res != nil) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		if !b.closed || len(req.Header) != 1 || req.URL.Host != "vendor.example" {
			t.Errorf("%s: closed %v, request %+v", name, b.closed, req)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://vendor.example/v1/messages", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := r.transport.RoundTrip(req); err != nil || res.StatusCode != 400 {
		t.Errorf("without a body: %v %v", res, err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestRoundTrip_Facts(t *testing.T) {
	t.Parallel()
	f := formats()[0]
	v := pair(t, 0, says(200, f.answer), fails(t))
	r := newRig(t, v[0], v[1], func(c *transport.Config) {
		c.UseCase = "batch"
		c.Facts = func(r *http.Request, f *core.Facts) {
			if r.Header.Get("X-Plan") == "free" {
				f.Audience, f.Priority, f.LatencyBudgetMS = core.AudienceFree, 2, 1234
			}
		}
	})
	r.ask(t, f.path, f.ask)
	if d := r.tape.only(t); d.Facts.UseCase != "batch" || d.Facts.Audience != core.AudienceAdmin || d.Facts.Target != "claude" {
		t.Errorf("facts %+v", d.Facts)
	}
	got := r.ask(t, f.path, f.ask, "X-Plan", "free", "Spillway-Use-Case", "payments", "Spillway-Tags", "a=b")
	d := r.tape.decisions[1]
	if d.Facts.UseCase != "payments" || d.Facts.Priority != 2 || d.Facts.LatencyBudgetMS != 1300 || d.Tags != "a=b" {
		t.Errorf("facts %+v", d.Facts)
	}
	if got.Header.Get("Spillway-Decision") == "" || got.Header.Get("Spillway-Target") != "" {
		t.Errorf("a free audience is told %v", got.Header)
	}
	if h := v[0].seen()[1].header; h.Get("Spillway-Use-Case") != "" || h.Get("X-Plan") != "" {
		t.Errorf("the vendor is told %v", h)
	}
}

// A use case that the acting revision doesn't have is refused, and never another
// workload: neither one that the program's hook names nor one that a later
// revision gave up.
func TestRoundTrip_UnknownUseCase(t *testing.T) {
	t.Parallel()
	f := formats()[0]
	v := pair(t, 0, fails(t), fails(t))
	r := newRig(t, v[0], v[1], func(c *transport.Config) {
		c.Facts = func(_ *http.Request, f *core.Facts) { f.UseCase = "nonsense" }
	})
	for _, ask := range []string{f.ask, f.askStream} {
		if got := r.ask(t, f.path, ask); got.StatusCode != 400 || !strings.Contains(got.text, "nonsense") {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
	r = newRig(t, v[0], v[1], func(c *transport.Config) { c.UseCase = "static" })
	rev := core.DefaultRevision(catalogOf(t, v[0].URL, v[1].URL))
	last := len(rev.Tables.UseCases) - 1
	rev.Tables.UseCases[last].ID = "renamed"
	if err := r.engine.Activate(rev); err != nil {
		t.Fatal(err)
	}
	if got := r.ask(t, f.path, f.ask); got.StatusCode != 400 || !strings.Contains(got.text, `\"static\"`) {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

// Requests at the same time don't see one another's bytes, although they share
// buffers.
func TestRoundTrip_Concurrent(t *testing.T) {
	t.Parallel()
	f := formats()[0]
	echo := func(w http.ResponseWriter, r *http.Request) {
		own := r.Header.Get("Anthropic-Beta")
		if r.Header.Get("Accept") == "text/event-stream" {
			streams(f.start, strings.ReplaceAll(f.delta, "Hello", own), f.end)(w, r)
			return
		}
		says(200, strings.ReplaceAll(f.answer, "Hello", own))(w, r)
	}
	v := pair(t, 0, echo, fails(t))
	r := newRig(t, v[0], v[1])
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			own := "own-" + strconv.Itoa(i) + "-" + strings.Repeat("x", i*50)
			for _, ask := range []string{f.ask, f.askStream} {
				res, err := r.send(t.Context(), f.path, ask, "Anthropic-Beta", own)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil || strings.Count(string(b), own) != 1 || strings.Count(string(b), "own-") != 1 {
					t.Errorf("request %d got %q, %v", i, b, err)
				}
			}
		})
	}
	all.Wait()
	if n := r.tape.count(); n != 80 {
		t.Errorf("%d decisions", n)
	}
}

// refused is a vendor that takes no connection.
type refused struct{}

func (refused) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// A request that the SDK repeats is not repeated once more (R4.5).
func TestRoundTrip_MarkedAsRetry(t *testing.T) {
	t.Parallel()
	f := formats()[0]
	for count, attempts := range map[string]int{"0": 4, "1": 2} { // two at each vendor, or one
		synctest.Test(t, func(t *testing.T) {
			r := rigOver(t, "http://a.example", "http://b.example", upstream.Config{Transport: refused{}})
			got := r.ask(t, f.path, f.ask, "X-Stainless-Retry-Count", count)
			if n := len(r.tape.only(t).Attempts); n != attempts || got.StatusCode < 500 {
				t.Errorf("count %s: %d attempts, want %d; %d", count, n, attempts, got.StatusCode)
			}
		})
	}
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	engine, err := core.New(core.Config{Revision: core.DefaultRevision(catalogOf(t, "ftp://nowhere", "http://vendor.example"))})
	if err != nil {
		t.Fatal(err)
	}
	up := upstream.New(upstream.Config{})
	for want, cfg := range map[string]transport.Config{
		"no engine":                   {},
		`use case "x" is not known`:   {Engine: engine, Upstream: up, UseCase: "x"},
		"a limit is negative":         {Engine: engine, Upstream: up, MaxBody: -1},
		"scheme must be http or http": {Engine: engine},
	} {
		if _, err := transport.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := transport.New(transport.Config{Engine: engine, Upstream: up}); err != nil {
		t.Error(err)
	}
}

// Without a client of its own the transport calls the engine's catalog, also one
// that came with a later revision.
func TestNew_OwnUpstream(t *testing.T) {
	t.Parallel()
	f := formats()[0]
	v := pair(t, 0, says(200, f.answer), fails(t))
	r := newRig(t, v[0], v[1], func(c *transport.Config) { c.Upstream = nil })
	if got := r.ask(t, f.path, f.ask); got.StatusCode != 200 {
		t.Fatalf("%d %s", got.StatusCode, got.text)
	}
	moved := newVendor(t, says(200, f.answer))
	if err := r.engine.Activate(core.DefaultRevision(catalogOf(t, moved.URL, v[1].URL))); err != nil {
		t.Fatal(err)
	}
	if got := r.ask(t, f.path, f.ask); got.StatusCode != 200 || len(moved.seen()) != 1 {
		t.Errorf("%d %s, %d calls at the new node", got.StatusCode, got.text, len(moved.seen()))
	}
}
