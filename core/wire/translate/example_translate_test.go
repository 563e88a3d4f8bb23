package translate_test

import (
	"errors"
	"fmt"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/translate"
)

func ExampleRequest() {
	body := []byte(`{"model":"claude-opus-5-5","max_tokens":100,"messages":[{"role":"user","content":"Hello"}],"top_k":5}`)
	target := &core.Target{Model: "gpt-6-sol", MaxOutput: 4096}
	form, err := translate.Request(core.WireAnthropic, core.WireOpenAI, body, target)
	fmt.Println(string(form.Body), form.Warnings, err)
	// Output:
	// {"model":"gpt-6-sol","messages":[{"role":"user","content":"Hello"}],"max_completion_tokens":100} [top_k dropped] <nil>
}

func ExampleRequest_notPortable() {
	body := []byte(`{"max_tokens":100,"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}],"inference_geo":"eu"}`)
	_, err := translate.Request(core.WireAnthropic, core.WireOpenAI, body, &core.Target{Model: "gpt-6-sol"})
	var e *core.Error
	if errors.As(err, &e) {
		fmt.Println(e.Kind, e.Type)
	}
	// Output:
	// not_portable inference_geo, messages[0].content[0].type=container_upload
}
