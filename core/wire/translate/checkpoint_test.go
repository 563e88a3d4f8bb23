package translate

import (
	"testing"

	"github.com/spillway-llm/spillway/core"
)

func TestCheckpoint(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		to        core.Wire
		doc, path string
	}{
		{core.WireOpenAI, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"{\"cache_control\":1}"}]}],"stop":["a"]}`, ""},
		{core.WireAnthropic, `{"model":"m","system":[{"type":"text","text":"x"}],"metadata":{"user_id":"u"},"messages":[]}`, ""},
		{core.WireOpenAI, `{"model":"m","cache_control":{}}`, "cache_control"},
		{core.WireOpenAI, `{"messages":[{"role":"user"},{"content":[{"type":"text"},{"text":"x","cache_control":{}}]}]}`, "messages[1].content[1].cache_control"},
		{core.WireOpenAI, `{"tools":[{"cache_control":{}}]}`, "tools"},
		{core.WireOpenAI, `{"system":"x"}`, "system"},
		{core.WireOpenAI, `{"metadata":{"user_id":"x"}}`, "metadata"},
		{core.WireAnthropic, `{"system":[{"cache_control":{}}]}`, "system[0].cache_control"},
		{core.WireAnthropic, `{"stream":true,"stream_options":{}}`, "stream_options"},
		{core.WireAnthropic, `{"messages":[{"content":[{"prompt_cache_breakpoint":{}}]}]}`, "messages[0].content[0].prompt_cache_breakpoint"},
		{core.WireAnthropic, `{"metadata":{"other":1}}`, "metadata.other"},
		{core.WireAnthropic, `{"model":`, "not JSON at byte 9: expected a value"},
	} {
		err := checkpoint(tc.to, []byte(tc.doc))
		switch {
		case tc.path == "" && err != nil:
			t.Errorf("%s: %v", tc.doc, err)
		case tc.path != "" && (err == nil || err.Type != tc.path || err.Kind != core.KindNotPortable):
			t.Errorf("%s: %v, want it refused at %s", tc.doc, err, tc.path)
		}
	}
}
