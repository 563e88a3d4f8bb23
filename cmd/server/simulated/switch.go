package simulated

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core/demovendor"
)

// FaultPattern is where [Vendors.ServeFault] is to be mounted.
const FaultPattern = "POST /sim/vendors/{name}/fault"

// order is the body of the fault switch. An empty fault heals.
type order struct {
	Fault       *demovendor.Kind `json:"fault"`
	Model       string           `json:"model"`
	Share       float64          `json:"share"`
	After       int              `json:"after"`
	DelayMS     int              `json:"delay_ms"`
	RetryAfterS int              `json:"retry_after_s"`
}

// ServeFault breaks or heals a vendor: {"fault": "overloaded"}, {"fault": ""}.
// It only takes JSON, which no foreign page can send without asking first.
func (v *Vendors) ServeFault(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		answer(w, http.StatusUnsupportedMediaType, "send the fault as JSON, with Content-Type: application/json")
		return
	}
	var o order
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil || o.Fault == nil {
		answer(w, http.StatusBadRequest, `send {"fault": "overloaded"} to break the vendor, {"fault": ""} to heal it`)
		return
	}
	err := v.set(r.PathValue("name"), demovendor.Fault{
		Kind: *o.Fault, Model: o.Model, Share: o.Share, After: o.After, DelayMS: o.DelayMS, RetryAfterS: o.RetryAfterS,
	}, "http")
	switch {
	case errors.Is(err, console.ErrNotFound):
		answer(w, http.StatusNotFound, `the simulated vendors are "anthropic" and "openai"`)
	case err != nil:
		answer(w, http.StatusBadRequest, err.Error())
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text}) // the client left
}
