package console

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
	"github.com/spillway-llm/spillway/core/circuit"
)

// feedLength is how many events the overview shows.
const feedLength = 30

// readLength is how many recorded events are read at once: budget samples, which
// the feed leaves out, are among them.
const readLength = 200

// feedItem is one event in the feed, copied from what was recorded. Kind picks
// the sentence and the other fields fill it.
type feedItem struct {
	At      time.Time
	Kind    string // the event's type, with a variant where the sentence differs
	Subject string
	// UseCase, From, To, Cause and By are words of the event, "" where it has none.
	UseCase, From, To, Cause, By string
	Reason                       string
	Until                        time.Time
	Number                       int
}

// feed keeps the newest events and the levels' last changes. It is safe for
// concurrent use.
type feed struct {
	started time.Time // what happened before it is only in the history

	mu     sync.Mutex
	items  []feedItem // newest first
	levels map[string]time.Time
	seq    int64 // newest event read from the history
	fresh  []feedItem
	logs   map[string]*targetLog // by target, "" for all
}

func newFeed(started time.Time) *feed {
	return &feed{started: started, levels: map[string]time.Time{}, logs: map[string]*targetLog{}}
}

// add puts a live event in front and remembers it for the next announcement.
func (f *feed) add(it feedItem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(it)
	f.log(it)
	if len(f.fresh) < feedLength {
		f.fresh = append(f.fresh, it)
	}
}

func (f *feed) put(it feedItem) {
	if it.Kind == "level" && it.At.After(f.levels[it.Subject]) {
		f.levels[it.Subject] = it.At
	}
	f.items = insert(f.items, it, feedLength)
}

// insert puts an item into its place, newest first, and drops what is too much.
func insert(items []feedItem, it feedItem, most int) []feedItem {
	at, _ := slices.BinarySearchFunc(items, it.At, func(x feedItem, t time.Time) int { return t.Compare(x.At) })
	items = slices.Insert(items, at, it)
	return items[:min(len(items), most)]
}

// newest returns the events, newest first.
func (f *feed) newest() []feedItem {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.items)
}

// unannounced returns the live events since the last call.
func (f *feed) unannounced() []feedItem {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.fresh
	f.fresh = nil
	return out
}

func (f *feed) levelSince(useCase string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.levels[useCase]
}

// read takes over recorded events: those from before the start, and of the
// later ones what never passes the recorder. The others came live already.
func (f *feed) read(ctx context.Context, h History) error {
	f.mu.Lock()
	after := f.seq
	f.mu.Unlock()
	events, err := h.Events(ctx, 0, after, readLength)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range slices.Backward(events) {
		f.seq = max(f.seq, e.Seq)
		unseen := e.At.Before(f.started) && e.Kind != "budget"
		if unseen || e.Kind == "gap" || e.Kind == "run" {
			f.put(recordedItem(e))
		}
	}
	return nil
}

// recordedItem reads an event's documented JSON. Members that an event does not
// have stay empty, and a body that can't be read still shows its kind.
func recordedItem(e audit.Event) feedItem {
	var body struct {
		Target     string `json:"target"`
		UseCase    string `json:"use_case"`
		From       string `json:"from"`
		To         string `json:"to"`
		Cause      string `json:"cause"`
		QuotaGroup string `json:"quota_group"`
		Usable     *bool  `json:"usable"`
		FailedAs   string `json:"kind"`
		Hold       string `json:"hold"`
		Action     string `json:"action"`
		Number     int    `json:"number"`
		By         string `json:"by"`
		Reason     string `json:"reason"`
		Refused    string `json:"refused"`
		Fault      string `json:"fault"`
		UntilUS    int64  `json:"until_us"`
		Missing    int    `json:"missing"`
		What       string `json:"what"`
	}
	// A body of another shape leaves its members empty: kind and subject remain.
	_ = json.Unmarshal(e.Body, &body)
	it := feedItem{
		At: e.At, Kind: e.Kind, Subject: e.Subject, UseCase: body.UseCase, From: body.From, To: body.To,
		Cause: body.Cause, By: body.By, Reason: body.Reason, Number: body.Number,
	}
	if body.UntilUS > 0 && body.To != circuit.HalfOpen.String() && body.To != circuit.Closed.String() {
		it.Until = time.UnixMicro(body.UntilUS)
	}
	switch {
	case e.Kind == "transition":
		it.Subject = first(body.Target, e.Subject)
	case e.Kind == "cooldown":
		it.Subject = first(body.Target, body.QuotaGroup, e.Subject)
	case e.Kind == "level":
		it.Subject = first(body.UseCase, e.Subject)
	case e.Kind == "key":
		it.Kind = variant("key", body.Usable != nil && *body.Usable, "back", "out")
		it.Cause = body.FailedAs
	case e.Kind == "policy":
		it.Kind = "policy." + first(body.Action, "activate")
	case e.Kind == "config":
		it.Kind, it.Reason = variant("config", body.Refused == "", "loaded", "refused"), body.Refused
	case e.Kind == "fault":
		it.Kind, it.To = variant("fault", body.Fault == "", "healed", "set"), body.Fault
	case e.Kind == "override":
		it.To = body.Hold
	case e.Kind == "gap":
		it.Number = body.Missing
	case e.Kind == "run":
		it.Cause = body.What
	}
	return it
}

func variant(kind string, yes bool, then, otherwise string) string {
	if yes {
		return kind + "." + then
	}
	return kind + "." + otherwise
}

func first(s ...string) string {
	for _, x := range s {
		if x != "" {
			return x
		}
	}
	return ""
}

// liveItem copies an event for the feed; ok is false for those that it doesn't show.
func liveItem(ev core.Event) (it feedItem, ok bool) {
	switch e := ev.(type) {
	case *core.Transition:
		return feedItem{
			At: e.At, Kind: "transition", Subject: e.Target, UseCase: e.UseCase,
			From: e.From.String(), To: e.To.String(), Cause: e.Cause, Until: untilOf(e),
		}, true
	case *core.Cooldown:
		return feedItem{At: e.At, Kind: "cooldown", Subject: first(e.Target, e.QuotaGroup), Until: e.Until}, true
	case *core.LevelChange:
		return feedItem{At: e.At, Kind: "level", Subject: e.UseCase, From: e.From.String(), To: e.To.String()}, true
	case *core.KeyState:
		return feedItem{
			At: e.At, Kind: variant("key", e.Usable, "back", "out"), Subject: e.Provider + "/" + e.Key,
			Cause: e.Kind.String(), By: e.By,
		}, true
	case *core.Override:
		return feedItem{
			At: e.At, Kind: "override", Subject: e.Target, UseCase: e.UseCase, To: e.Hold.String(),
			By: e.By, Reason: e.Reason, Until: e.Until,
		}, true
	case *core.PolicyChange:
		return feedItem{
			At: e.At, Kind: "policy." + e.Action, Subject: short(e.Revision), Number: e.Number, By: e.By, Reason: e.Reason,
		}, true
	case *core.ConfigChange:
		return feedItem{At: e.At, Kind: variant("config", e.Refused == "", "loaded", "refused"), By: e.By, Reason: e.Refused}, true
	case *core.FaultChange:
		return feedItem{At: e.At, Kind: variant("fault", e.Fault == "", "healed", "set"), Subject: e.Vendor, To: e.Fault, By: e.By}, true
	}
	return feedItem{}, false
}

func untilOf(e *core.Transition) time.Time {
	if e.To == circuit.Open {
		return e.Until
	}
	return time.Time{}
}

// short is the part of a digest that people compare.
func short(digest string) string {
	if len(digest) > 8 && !strings.Contains(digest, "-") {
		return digest[:8]
	}
	return digest
}
