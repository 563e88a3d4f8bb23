// Package simulated runs the simulated vendors and lets people break them.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/demovendor"
)

// Vendors are the two simulated vendors, each listening on a loopback port of
// its own. They are safe for concurrent use.
type Vendors struct {
	list     []*vendor
	recorder core.Recorder
	now      func() time.Time

	mu sync.Mutex // guards the vendors' since
}

type vendor struct {
	name  string
	wire  core.Wire
	demo  *demovendor.Vendor
	serve *http.Server
	url   string
	since time.Time
}

var _ console.Vendors = (*Vendors)(nil)

// Start starts both vendors. Breaking and healing them is recorded. Close them.
func Start(recorder core.Recorder, now func() time.Time) (*Vendors, error) {
	v := &Vendors{recorder: recorder, now: now}
	for _, w := range []demovendor.Wire{demovendor.WireAnthropic, demovendor.WireOpenAI} {
		if err := v.add(w); err != nil {
			return nil, errors.Join(err, v.Close())
		}
	}
	return v, nil
}

func (v *Vendors) add(w demovendor.Wire) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start simulated vendor %q: %w", w, err)
	}
	preset := demovendor.Preset(w)
	for i := range preset.Models {
		// The catalog says what a target takes; a second opinion would only differ.
		preset.Models[i].ContextTokens, preset.Models[i].MaxOutput = 0, 0
	}
	demo := demovendor.New(preset)
	x := &vendor{
		name: string(w), wire: core.Wire(w), demo: demo, url: "http://" + listener.Addr().String(),
		serve: &http.Server{Handler: demo, ConnState: demo.ConnState, ReadHeaderTimeout: time.Minute},
	}
	v.list = append(v.list, x)
	go func() { _ = x.serve.Serve(listener) }() // ends with Close
	return nil
}

// Close stops the vendors, cutting what they are answering.
func (v *Vendors) Close() error {
	var errs []error
	for _, x := range v.list {
		errs = append(errs, x.serve.Close())
	}
	return errors.Join(errs...)
}

// URL is the base URL of the vendor that speaks a wire format.
func (v *Vendors) URL(w core.Wire) string {
	if x := v.find(string(w)); x != nil {
		return x.url
	}
	return ""
}

// Vendors returns the vendors as they are, in a fixed order.
func (v *Vendors) Vendors() []console.Vendor {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := make([]console.Vendor, len(v.list))
	for i, x := range v.list {
		out[i] = console.Vendor{Name: x.name, Wire: x.wire, Fault: console.Fault(x.demo.Fault().Kind), Since: x.since}
	}
	return out
}

// Break sets a fault in the words of the console.
func (v *Vendors) Break(_ context.Context, name string, f console.Fault, by string) error {
	return v.set(name, demovendor.Fault{Kind: demovendor.Kind(f)}, by)
}

// Heal takes the fault back.
func (v *Vendors) Heal(_ context.Context, name, by string) error {
	return v.set(name, demovendor.Fault{}, by)
}

// set breaks a vendor, or heals it with the zero fault.
func (v *Vendors) set(name string, f demovendor.Fault, by string) error {
	x := v.find(name)
	if x == nil {
		return fmt.Errorf("simulated vendor %q: %w", name, console.ErrNotFound)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if f.Kind == demovendor.Healthy {
		x.demo.Heal()
		x.since = time.Time{}
	} else {
		if err := x.demo.Break(f); err != nil {
			return fmt.Errorf("%w: %w", console.ErrRefused, err)
		}
		x.since = v.now()
	}
	v.recorder.Record(&core.FaultChange{At: v.now(), Vendor: name, Fault: string(f.Kind), By: by})
	return nil
}

func (v *Vendors) find(name string) *vendor {
	for _, x := range v.list {
		if x.name == name {
			return x
		}
	}
	return nil
}
