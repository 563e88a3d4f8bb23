// Package mock is an LLM vendor that costs next to nothing: it answers both wire formats from prepared bytes and counts what it answered.
package mock

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Settings say how the mock answers. They can change while it runs.
type Settings struct {
	// ErrorShare is the part of the requests that is refused as overloaded.
	ErrorShare float64 `json:"error_share"`
	// Jitter is the most that a JSON answer is delayed; each takes its own part of it.
	Jitter time.Duration `json:"jitter"`
	// Chunks and Interval shape streams; a stream's first chunk comes at once.
	Chunks   int           `json:"chunks"`
	Interval time.Duration `json:"interval"`
}

// Default are the settings to start with: no errors, no delay, 100 chunks 10 ms apart.
func Default() Settings { return Settings{Chunks: 100, Interval: 10 * time.Millisecond} }

// Stats count since the start.
type Stats struct {
	// Requests are all that were answered, refused ones included.
	Requests int64 `json:"requests"`
	Refused  int64 `json:"refused"`
	Chunks   int64 `json:"chunks"`
	// Gone are clients that left before their answer was whole.
	Gone int64 `json:"gone"`
}

// Mock is the vendor. It is safe for concurrent use; make one with [New].
type Mock struct {
	settings                        atomic.Pointer[Settings]
	seq                             atomic.Uint64
	requests, refused, chunks, gone atomic.Int64
	buffers                         sync.Pool
	mux                             *http.ServeMux
}

// New returns a mock with the default settings.
func New() *Mock {
	m := &Mock{mux: http.NewServeMux()}
	s := Default()
	m.settings.Store(&s)
	m.buffers.New = func() any { return new(bytes.Buffer) }
	claude, gpt := anthropic(), openai()
	m.mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { m.infer(w, r, &claude) })
	m.mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { m.infer(w, r, &gpt) })
	m.mux.HandleFunc("GET /v1/models", m.models)
	m.mux.HandleFunc("GET /stats", m.stats)
	m.mux.HandleFunc("PUT /settings", m.set)
	return m
}

// ServeHTTP serves one request.
func (m *Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

func (m *Mock) models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"object":"list","data":[],"has_more":false,"first_id":null,"last_id":null}`) // a prober may leave
}

func (m *Mock) stats(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Stats{m.requests.Load(), m.refused.Load(), m.chunks.Load(), m.gone.Load()}) // as above
}

func (m *Mock) set(w http.ResponseWriter, r *http.Request) {
	s := Default()
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.settings.Store(&s)
	w.WriteHeader(http.StatusNoContent)
}

// infer answers a request for an answer.
func (m *Mock) infer(w http.ResponseWriter, r *http.Request, f *format) {
	buf, _ := m.buffers.Get().(*bytes.Buffer)
	defer m.buffers.Put(buf)
	buf.Reset()
	if _, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, 32<<20)); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s := m.settings.Load()
	a, b := draws(m.seq.Add(1))
	if s.ErrorShare > 0 && a < s.ErrorShare {
		m.requests.Add(1)
		m.refused.Add(1)
		answer(w, f.refusedStatus, f.refused)
		return
	}
	model := modelOf(buf.Bytes())
	if bytes.Contains(buf.Bytes(), []byte(`"stream":true`)) {
		m.stream(w, r, f, s, model)
		m.requests.Add(1)
		return
	}
	if s.Jitter > 0 && !sleep(r.Context(), time.Duration(b*float64(s.Jitter))) {
		m.gone.Add(1)
		return
	}
	m.requests.Add(1)
	answer(w, http.StatusOK, bytes.Replace(f.answer, []byte(modelMark), model, 1))
}

func answer(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left was still served
}

// stream sends chunks at the pace of a clock, not of the reader: a late chunk
// does not delay those after it.
func (m *Mock) stream(w http.ResponseWriter, r *http.Request, f *format, s *Settings, model []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"text/event-stream; charset=utf-8"}
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	start := time.Now()
	buf := bytes.Replace(f.open, []byte(modelMark), model, 1)
	for i := range s.Chunks {
		if !sleep(r.Context(), time.Until(start.Add(time.Duration(i)*s.Interval))) {
			m.gone.Add(1)
			return
		}
		buf = f.appendChunk(buf, i, model)
		if i == s.Chunks-1 {
			buf = append(buf, bytes.Replace(f.end, []byte(modelMark), model, 1)...)
		}
		if _, err := w.Write(buf); err != nil || flush.Flush() != nil {
			m.gone.Add(1)
			return
		}
		m.chunks.Add(1)
		buf = buf[:0]
	}
}

// modelOf finds the model's name by its spelling, which is enough for bodies of our own making.
func modelOf(body []byte) []byte {
	_, rest, _ := bytes.Cut(body, []byte(`"model":"`))
	model, _, _ := bytes.Cut(rest, []byte(`"`))
	return model
}

// draws are two numbers in [0, 1) that depend on n alone.
func draws(n uint64) (a, b float64) {
	z := n * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>32) / (1 << 32), float64(z&0xffffffff) / (1 << 32)
}

// sleep waits; false when the client left meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
