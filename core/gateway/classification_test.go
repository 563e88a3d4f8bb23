package gateway_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

// TestClassification_CallersMistakes is field failure R15 (a): a caller who asks
// for a model that the vendor doesn't know disables it for nobody.
func TestClassification_CallersMistakes(t *testing.T) {
	t.Parallel()
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Length") == "" {
			t.Error("no length")
		}
		says(200, chatAnswer)(w, r)
	})
	nope := newVendor(t, says(404, `{"error":{"message":"The model nope does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}`))
	r := newRig(t, []target{
		{id: "nope", model: "nope", wire: core.WireOpenAI, vendor: nope},
		{id: "gpt", model: "gpt-1", wire: core.WireOpenAI, vendor: v},
	})
	for range 10 {
		got := r.ask(t, "/v1/chat/completions", strings.Replace(askChat, `"gpt"`, `"nope"`, 1))
		checkError(t, core.WireOpenAI, got, 404, "nope does not exist")
		contains(t, got.body, "model_not_found")
	}
	if v.count() != 0 || nope.count() != 10 {
		t.Errorf("%d calls of another target and %d of this one: a caller's mistake is not rerouted", v.count(), nope.count())
	}
	if got := r.ask(t, "/v1/chat/completions", askChat); got.status != 200 {
		t.Errorf("a valid request got %d", got.status)
	}
	if r.tape.opened != 0 || len(r.tape.keys) != 0 {
		t.Errorf("%d circuits and %d keys moved", r.tape.opened, len(r.tape.keys))
	}
}

// TestClassification_AccountTrouble is field failure R15 (b): a 400 that means
// "no credit" is the account's trouble, not the caller's.
func TestClassification_AccountTrouble(t *testing.T) {
	t.Parallel()
	broke := newVendor(t, says(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}`))
	rich := newVendor(t, says(200, messageAnswer))
	r := twoRig(t, broke, rich)
	for range 5 {
		if got := r.ask(t, "/v1/messages", askMessages); got.status != 200 || got.body != messageAnswer {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	}
	if broke.count() != 1 || len(r.tape.keys) != 1 || r.tape.keys[0].Kind != core.KindBilling {
		t.Errorf("%d calls of the empty account, keys %+v", broke.count(), r.tape.keys)
	}
}

// TestClassification_StrayError is field failure R15 (c): one stray 500 opens
// nothing.
func TestClassification_StrayError(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			says(500, `{"error":{"message":"oops","type":"server_error"}}`)(w, r)
			return
		}
		says(200, chatAnswer)(w, r)
	})
	r := openAIRig(t, v)
	checkError(t, core.WireOpenAI, r.ask(t, "/v1/chat/completions", askChat), 500)
	for range 5 {
		if got := r.ask(t, "/v1/chat/completions", askChat); got.status != 200 {
			t.Errorf("status %d", got.status)
		}
	}
	if r.tape.opened != 0 || calls.Load() != 6 {
		t.Errorf("%d circuits moved, %d calls", r.tape.opened, calls.Load())
	}
}

// TestClassification_VendorKeyIsNotTheCallers holds that a refused provider key
// doesn't tell the caller that its own key is wrong, nor what the vendor wrote.
func TestClassification_VendorKeyIsNotTheCallers(t *testing.T) {
	t.Parallel()
	r := anthropicRig(t, newVendor(t, says(401, `{"type":"error","error":{"type":"authentication_error","message":"invalid key sk-ant-123"}}`)))
	got := r.ask(t, "/v1/messages", askMessages)
	checkError(t, core.WireAnthropic, got, 503, "operator")
	if strings.Contains(got.body, "sk-ant") {
		t.Errorf("the vendor's words about the key were passed on: %s", got.body)
	}
}
