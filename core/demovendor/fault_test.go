package demovendor_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/demovendor"
)

func TestFaultsInBothWires(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind        demovendor.Kind
		claude, gpt int
		inClaude    string
		inGPT       string
	}{
		{demovendor.Overloaded, 529, 503, `"overloaded_error"`, `"server_is_overloaded"`},
		{demovendor.RateLimited, 429, 429, `"rate_limit_error"`, `"rate_limit_exceeded"`},
		{demovendor.ServerError, 500, 500, `"api_error"`, `"type":"server_error"`},
		{demovendor.Credit, 400, 429, `credit balance is too low`, `"code":"insufficient_quota"`},
		{demovendor.Auth, 401, 401, `"authentication_error"`, `"invalid_api_key"`},
		{demovendor.Redirect, 307, 307, ``, ``},
		{demovendor.ErrorEvent, 200, 200, `"overloaded_error"`, `"error":{`},
	} {
		for _, wire := range []demovendor.Wire{demovendor.WireAnthropic, demovendor.WireOpenAI} {
			status, want := c.claude, c.inClaude
			if wire == demovendor.WireOpenAI {
				status, want = c.gpt, c.inGPT
			}
			v := demovendor.New(quick(wire))
			if err := v.Break(demovendor.Fault{Kind: c.kind}); err != nil {
				t.Fatal(err)
			}
			resp, got := ask(t, v, request(wire, body(wire)))
			if resp.StatusCode != status || !strings.Contains(got, want) {
				t.Errorf("%s %s: %d %s, want %d and %s", wire, c.kind, resp.StatusCode, got, status, want)
			}
			if after := resp.Header.Get("Retry-After"); (after == "20") != (c.kind == demovendor.RateLimited) {
				t.Errorf("%s %s: Retry-After %q", wire, c.kind, after)
			}
			v.Heal()
			if resp, _ := ask(t, v, request(wire, body(wire))); resp.StatusCode != 200 {
				t.Errorf("%s %s: %d after healing, want 200", wire, c.kind, resp.StatusCode)
			}
		}
	}
}

func TestErrorEventInsideAStream(t *testing.T) {
	t.Parallel()
	for _, wire := range []demovendor.Wire{demovendor.WireAnthropic, demovendor.WireOpenAI} {
		for _, after := range []int{0, 2} {
			v := demovendor.New(quick(wire))
			if err := v.Break(demovendor.Fault{Kind: demovendor.ErrorEvent, After: after}); err != nil {
				t.Fatal(err)
			}
			resp, got := ask(t, v, request(wire, streamed(body(wire))))
			events := parse(got)
			last := events[len(events)-1]
			if resp.StatusCode != 200 || decode(t, last.data)["error"] == nil {
				t.Errorf("%s: %d, last event %v, want 200 and an error", wire, resp.StatusCode, last)
			}
			if wire == demovendor.WireAnthropic && (last.name != "error" || strings.Count(got, "event: content_block_delta") != after) {
				t.Errorf("after %d: %s, want an event named error after that many deltas", after, got)
			}
		}
	}
}

func TestCutDropsTheConnection(t *testing.T) {
	t.Parallel()
	for _, wire := range []demovendor.Wire{demovendor.WireAnthropic, demovendor.WireOpenAI} {
		for _, ask := range []string{body(wire), streamed(body(wire))} {
			v := demovendor.New(quick(wire))
			if err := v.Break(demovendor.Fault{Kind: demovendor.Cut, After: 3}); err != nil {
				t.Fatal(err)
			}
			resp, err := v.RoundTrip(request(wire, ask))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) == 0 {
				t.Errorf("%s: read %d bytes, then %v, want some and an unexpected end", wire, len(got), err)
			}
			if n := v.Stats().Cut; n != 1 {
				t.Errorf("%s: %d cuts counted, want 1", wire, n)
			}
		}
	}
}

func TestFaultOfOneModel(t *testing.T) {
	t.Parallel()
	cfg := quick(demovendor.WireOpenAI)
	cfg.Models = append(cfg.Models, demovendor.Model{Name: "n"})
	v := demovendor.New(cfg)
	if err := v.Break(demovendor.Fault{Kind: demovendor.ServerError, Model: "n"}); err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]int{"m": 200, "n": 500} {
		resp, _ := ask(t, v, request(demovendor.WireOpenAI, strings.Replace(gptBody, `"m"`, `"`+model+`"`, 1)))
		if resp.StatusCode != want {
			t.Errorf("model %s: %d, want %d", model, resp.StatusCode, want)
		}
	}
}

func TestShareOfRequestsFails(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireOpenAI))
	if err := v.Break(demovendor.Fault{Kind: demovendor.ServerError, Share: 0.1}); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		ask(t, v, request(demovendor.WireOpenAI, gptBody))
	}
	if failed := v.Stats().Hits(demovendor.Count{Status: 500}); failed < 70 || failed > 130 {
		t.Errorf("%d of 1000 requests failed, want about 100", failed)
	}
}

func TestBadFaultsChangeNothing(t *testing.T) {
	t.Parallel()
	v := demovendor.New(quick(demovendor.WireOpenAI))
	was := demovendor.Fault{Kind: demovendor.Slow, DelayMS: 7}
	if err := v.Break(was); err != nil {
		t.Fatal(err)
	}
	for _, f := range []demovendor.Fault{
		{Kind: "broken"}, {Kind: demovendor.Cut, After: -1}, {Kind: demovendor.Cut, Share: 1.5},
		{Kind: demovendor.Slow, DelayMS: -1}, {Kind: demovendor.Cut, Model: "unheard-of"},
	} {
		if err := v.Break(f); !errors.Is(err, demovendor.ErrFault) {
			t.Errorf("break with %+v: %v, want ErrFault", f, err)
		}
	}
	if now := v.Fault(); now != was {
		t.Errorf("fault is now %+v, want %+v still", now, was)
	}
	v.Heal()
	if now := v.Fault(); now != (demovendor.Fault{}) {
		t.Errorf("fault is %+v after healing", now)
	}
}

func TestEveryKindCanBeReadFromJSON(t *testing.T) {
	t.Parallel()
	for _, kind := range demovendor.Kinds() {
		var f demovendor.Fault
		if err := json.Unmarshal([]byte(`{"kind":"`+string(kind)+`","retry_after_s":5}`), &f); err != nil {
			t.Fatal(err)
		}
		if f.Kind != kind || f.RetryAfterS != 5 || f.Check() != nil {
			t.Errorf("%s read as %+v, check %v", kind, f, f.Check())
		}
	}
}
