package upstream_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/upstream"
)

// TestPayload_NotReusedWhileRead holds the rule that keeps one caller's prompt
// out of another's request: a transport that may still read the body keeps it.
func TestPayload_NotReusedWhileRead(t *testing.T) {
	t.Parallel()
	wrote := func(r *http.Request, err error) {
		httptrace.ContextClientTrace(r.Context()).WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
	tests := []struct {
		name  string
		serve roundTrip
	}{
		{"an error before the body was written", func(*http.Request) (*http.Response, error) { return nil, io.EOF }},
		{"an answer before the body was written", func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		}},
		{"a failed write", func(r *http.Request) (*http.Response, error) {
			wrote(r, errors.New("reset"))
			return nil, io.EOF
		}},
		{"a repeated sending of which one is running", func(r *http.Request) (*http.Response, error) {
			_, _ = r.GetBody()
			wrote(r, nil)
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := upstream.New(upstream.Config{Transport: tt.serve})
			cl := call(c, core.WireOpenAI, "http://vendor.example", "k", "first")
			if res, err := c.Do(t.Context(), cl); err == nil {
				_ = res.Body.Close()
			}
			cl.Payload.Release()
			if p := c.NewPayload(); p == cl.Payload {
				t.Error("the memory was given away while the transport may read it")
			}
			if string(cl.Payload.Bytes) != "first" {
				t.Error("the bytes changed")
			}
		})
	}
}

func TestPayload_ReusedEmpty(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(srv.Close)
	c := upstream.New(upstream.Config{})
	for _, body := range []string{"a longer first body", "second", strings.Repeat("x", 100<<10), "last"} {
		cl := call(c, core.WireOpenAI, srv.URL, "k", body)
		res, err := c.Do(t.Context(), cl)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || string(got) != body {
			t.Errorf("vendor received %.20q of %d bytes, err %v", got, len(got), err)
		}
		cl.Payload.Release()
	}
	(*upstream.Payload)(nil).Release()
}
