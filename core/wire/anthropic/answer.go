package anthropic

import (
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/core/wire/classify"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// Answer looks at a whole Messages answer.
func (*Format) Answer(doc []byte) (u price.Usage, model, id string, err *core.Error) {
	w := walk.New(doc)
	var content, failed bool
	w.Enter()
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		switch v := w.Value(); string(name) {
		case "id":
			id = string(walk.Bytes(v))
		case "model":
			model = string(walk.Bytes(v))
		case "content":
			content = len(v) > 0 && v[0] == '['
		case "usage":
			ReadUsage(v, &u)
		case "error":
			failed = len(v) > 0 && !walk.IsNull(v)
		}
	}
	switch {
	case !w.End():
		return price.Usage{}, "", "", notAnAnswer(w.Err())
	case failed:
		return price.Usage{}, "", "", classify.Inside(table, 200, doc, core.KindServerError)
	case !content:
		return price.Usage{}, "", "", notAnAnswer(nil)
	}
	return u, model, id, nil
}

func notAnAnswer(cause *walk.SyntaxError) *core.Error {
	e := &core.Error{Op: "read the answer", Kind: core.KindBadResponse, Status: 200}
	if cause != nil {
		e.Err = cause
	}
	return e
}

// ReadUsage takes over what a usage object says. Figures that it leaves out or
// gives as null keep their value, because a stream's later figures replace
// earlier ones and don't add to them.
func ReadUsage(doc []byte, u *price.Usage) {
	w := walk.New(doc)
	if w.Kind() != '{' || !w.Enter() {
		return
	}
	write, short, long := int64(-1), int64(-1), int64(-1)
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		switch string(name) {
		case "input_tokens":
			u.Known = take(&w, &u.Input) || u.Known
		case "output_tokens":
			u.Known = take(&w, &u.Output) || u.Known
		case "cache_read_input_tokens":
			take(&w, &u.CacheRead)
		case "cache_creation_input_tokens":
			take(&w, &write)
		case "cache_creation":
			v := w.Value()
			short, long = part(v, "ephemeral_5m_input_tokens"), part(v, "ephemeral_1h_input_tokens")
		case "output_tokens_details":
			if n := part(w.Value(), "thinking_tokens"); n >= 0 {
				u.Reasoning = n
			}
		default:
			w.Skip()
		}
	}
	splitWrites(u, write, short, long)
}

// splitWrites takes over what was written to the cache. The two lifetimes have
// two prices; the total alone is priced as the short one, the vendor's default.
func splitWrites(u *price.Usage, total, short, long int64) {
	switch {
	case total < 0 && short < 0 && long < 0:
		return
	case total < 0:
		total = max(short, 0) + max(long, 0)
	}
	u.CacheWrite1h = min(max(long, 0), total)
	u.CacheWrite = total - u.CacheWrite1h
}

// take reads a figure into n and reports whether there was one.
func take(w *walk.Walker, n *int64) bool {
	v, ok := walk.Int(w.Value())
	if ok {
		*n = v
	}
	return ok
}

// part reads one figure of an object, -1 without it.
func part(doc []byte, name string) int64 {
	if n, ok := walk.Int(walk.Get(doc, name)); ok {
		return n
	}
	return -1
}
