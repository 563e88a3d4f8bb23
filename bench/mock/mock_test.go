package mock_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/bench/mock"
)

func serve(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(mock.New())
	t.Cleanup(s.Close)
	return s
}

func post(t *testing.T, s *httptest.Server, path, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func set(t *testing.T, s *httptest.Server, settings string) int {
	t.Helper()
	r, err := http.NewRequest(http.MethodPut, s.URL+"/settings", strings.NewReader(settings))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func stats(t *testing.T, s *httptest.Server) (st mock.Stats) {
	t.Helper()
	resp, err := http.Get(s.URL + "/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil {
		t.Fatal(err)
	}
	return st
}

func TestAnswersInBothFormats(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for path, want := range map[string]string{"/v1/messages": `"type":"message"`, "/v1/chat/completions": `"object":"chat.completion"`} {
		status, got := post(t, s, path, `{"model":"some-model","messages":[]}`)
		if status != http.StatusOK || !json.Valid([]byte(got)) || !strings.Contains(got, want) ||
			!strings.Contains(got, `"model":"some-model"`) || strings.Count(got, mock.EndMark) != 1 {
			t.Errorf("%s: %d %s, want a whole answer of some-model", path, status, got)
		}
		if len(got) < 1300 || len(got) > 1700 {
			t.Errorf("%s: %d bytes, want about 1.5 kB", path, len(got))
		}
	}
	if st := stats(t, s); st.Requests != 2 || st.Refused != 0 {
		t.Errorf("stats %+v, want 2 requests", st)
	}
}

func TestStreamsInBothFormats(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if status := set(t, s, `{"chunks":3,"interval":1}`); status != http.StatusNoContent {
		t.Fatalf("settings: %d", status)
	}
	for path, end := range map[string]string{"/v1/messages": `"message_stop"}`, "/v1/chat/completions": "[DONE]"} {
		status, got := post(t, s, path, `{"model":"some-model","stream":true}`)
		if status != http.StatusOK || !strings.HasSuffix(strings.TrimSpace(got), end) || !strings.Contains(got, "some-model") {
			t.Errorf("%s: %d %s, want a stream that ends in %s", path, status, got, end)
		}
		for i := range 3 {
			if n := strings.Count(got, fmt.Sprintf("%s%d ", mock.ChunkMark, i)); n != 1 {
				t.Errorf("%s: chunk %d came %d times", path, i, n)
			}
		}
		for line := range strings.Lines(got) {
			data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
			if ok && data != "[DONE]" && !json.Valid([]byte(data)) {
				t.Errorf("%s: chunk %q is no JSON", path, data)
			}
		}
	}
	if st := stats(t, s); st.Chunks != 6 || st.Requests != 2 {
		t.Errorf("stats %+v, want 6 chunks of 2 requests", st)
	}
}

func TestShareOfErrors(t *testing.T) {
	t.Parallel()
	s := serve(t)
	set(t, s, `{"error_share":0.2}`)
	for path, refusal := range map[string]int{"/v1/messages": 529, "/v1/chat/completions": 503} {
		refused := 0
		for range 200 {
			status, got := post(t, s, path, `{"model":"m"}`)
			if status == refusal && json.Valid([]byte(got)) {
				refused++
			}
		}
		if refused < 20 || refused > 60 {
			t.Errorf("%s: %d of 200 refused with %d, want about 40", path, refused, refusal)
		}
	}
	if st := stats(t, s); st.Requests != 400 || st.Refused < 40 {
		t.Errorf("stats %+v, want refusals counted as requests", st)
	}
}

func TestBadSettingsChangeNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if status := set(t, s, `{"error_share":"all"}`); status != http.StatusBadRequest {
		t.Errorf("bad settings: %d, want 400", status)
	}
	if status, _ := post(t, s, "/v1/messages", `{}`); status != http.StatusOK {
		t.Errorf("after bad settings: %d, want 200", status)
	}
}

func TestLeavingClientsAreCounted(t *testing.T) {
	t.Parallel()
	s := serve(t)
	set(t, s, fmt.Sprintf(`{"chunks":1000,"interval":%d}`, time.Hour))
	resp, err := http.Post(s.URL+"/v1/messages", "application/json", bytes.NewBufferString(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	for stats(t, s).Gone != 1 {
		if t.Context().Err() != nil {
			t.Fatal("the client that left was never counted")
		}
	}
}

func TestModelsCanBeProbed(t *testing.T) {
	t.Parallel()
	resp, err := http.Get(serve(t).URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct{ Data []any }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || list.Data == nil {
		t.Errorf("models: %v, %v, want a list", list, err)
	}
}
