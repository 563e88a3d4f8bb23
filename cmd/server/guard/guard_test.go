package guard_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-llm/spillway/cmd/server/guard"
)

func TestLocal(t *testing.T) {
	t.Parallel()
	handler := guard.Local([]string{"spillway.example.com"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	for name, tt := range map[string]struct {
		host   string
		header http.Header
		want   int
	}{
		"loopback":            {"127.0.0.1:8080", nil, 204},
		"loopback_6":          {"[::1]:8080", nil, 204},
		"localhost":           {"LocalHost:8080", nil, 204},
		"configured":          {"spillway.example.com", nil, 204},
		"rebound_name":        {"evil.example", http.Header{"Origin": {"http://evil.example"}}, 403},
		"looks_like_loopback": {"127.0.0.1.evil.example", nil, 403},
		"other_address":       {"10.0.0.7:8080", nil, 403},
		"no_host":             {"", nil, 403},
		"own_page":            {"localhost:8080", http.Header{"Origin": {"http://localhost:8080"}}, 204},
		"foreign_page":        {"localhost:8080", http.Header{"Origin": {"http://evil.example"}}, 403},
		"foreign_fetch":       {"localhost:8080", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		"null_origin":         {"localhost:8080", http.Header{"Origin": {"null"}}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := httptest.NewRequest(http.MethodPost, "/sim/vendors/anthropic/fault", nil)
			req.Host = tt.host
			if tt.header != nil {
				req.Header = tt.header
			}
			rec := httptest.NewRecorder()
			handler.ServeHTTP(rec, req)
			if rec.Code != tt.want {
				t.Errorf("status = %d, want %d", rec.Code, tt.want)
			}
		})
	}
}
