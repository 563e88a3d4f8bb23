package exchange_test

import (
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core/exchange"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	p := newPool(t, vendors{})
	for model, want := range map[string]exchange.Named{
		"": {}, "auto": {}, "claude": {Model: "claude", Target: "claude"}, "claude-1": {Model: "claude-1", Target: "claude"},
		"batch": {UseCase: "batch"}, "payments": {UseCase: "payments"}, // whether it is granted is not asked here
	} {
		if got, e := p.Resolve(model, admin()); e != nil || got != want {
			t.Errorf("%q is %+v, %v, want %+v", model, got, e, want)
		}
	}
}

// An unknown model is told with names that may have been meant, and where all are.
func TestResolve_Unknown(t *testing.T) {
	t.Parallel()
	listed := newPool(t, vendors{}, func(c *exchange.Config) { c.ModelsAt = "/v1/models" })
	alone := newPool(t, vendors{})
	for _, tt := range []struct {
		pool  *exchange.Pool
		model string
		want  []string
		not   string
	}{
		{listed, "claud", []string{`"claud"`, "nearest are claude", "GET /v1/models", `"auto"`}, "close to it"},
		{listed, "zzzzzzzzzzzz", []string{"GET /v1/models"}, "nearest"},
		{alone, "claud", []string{"nearest are claude"}, "GET"},
		{alone, "zzzzzzzzzzzz", []string{"no configured name is close to it"}, "GET"},
	} {
		_, e := tt.pool.Resolve(tt.model, admin())
		if e == nil || e.Status != 404 {
			t.Fatalf("%q: %v", tt.model, e)
		}
		for _, part := range tt.want {
			if !strings.Contains(e.Message, part) {
				t.Errorf("%q is not in %q", part, e.Message)
			}
		}
		if strings.Contains(e.Message, tt.not) {
			t.Errorf("%q is in %q", tt.not, e.Message)
		}
		if strings.Contains(e.Error(), tt.model) {
			t.Errorf("the caller's words are in the error: %v", e)
		}
	}
}
