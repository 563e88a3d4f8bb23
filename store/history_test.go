package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/audit"
	"github.com/spillway-llm/spillway/store"
)

// history records ten decisions, 0 to 9, a second apart.
func history(t *testing.T) *store.DB {
	t.Helper()
	db := open(t, config(t))
	snap, p := snapshot(t, 1), plan()
	for i := range 10 {
		d := answered(snap, p, i)
		d.At = noon().Add(time.Duration(i) * time.Second)
		switch i {
		case 2:
			d = decision(snap, p, i)
			d.At = noon().Add(2 * time.Second)
		case 3:
			d.Outcome, d.Status, d.Target = core.KindNoTarget, 503, ""
		case 4:
			d.Outcome, d.Status, d.Target = core.KindCallerGone, 499, ""
		case 5:
			d.Situation, d.Facts.UseCase = core.SituationRerouted, "batch"
		case 6:
			d.KeyID, d.Facts.Audience, d.Tags = "k-free", core.AudienceFree, "100%_sure"
		case 7:
			d.Revision, d.Target, d.Facts.Model = "rev-2", "claude-sonnet-5", "Sonnet"
		case 8:
			d.Duration = 9 * time.Minute // arrives before, is recorded after others
		}
		db.Record(d)
		if i%3 == 0 {
			db.Record(&core.LevelChange{At: d.At, UseCase: "batch"})
		}
	}
	flush(t, db)
	return db
}

func number(t *testing.T, id string) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(id, "0d%d", &n); err != nil {
		t.Fatal(id, err)
	}
	return n
}

func TestDecisions_Filters(t *testing.T) {
	t.Parallel()
	db := history(t)
	at := func(seconds int) time.Time { return noon().Add(time.Duration(seconds) * time.Second) }
	tests := map[string]struct {
		filter audit.Filter
		want   []int
	}{
		"all":              {audit.Filter{}, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
		"limit":            {audit.Filter{Limit: 3}, []int{9, 8, 7}},
		"answered":         {audit.Filter{Outcome: "none"}, []int{9, 8, 7, 6, 5, 2, 1, 0}},
		"failed":           {audit.Filter{Outcome: "failed"}, []int{4, 3}},
		"one kind":         {audit.Filter{Outcome: "no_target"}, []int{3}},
		"degraded":         {audit.Filter{Degraded: true}, []int{5, 2}},
		"degraded answers": {audit.Filter{Degraded: true, Outcome: "none", UseCase: "batch"}, []int{5}},
		"use case":         {audit.Filter{UseCase: "batch"}, []int{5}},
		"no such use case": {audit.Filter{UseCase: "assist"}, nil},
		"audience":         {audit.Filter{Audience: "free"}, []int{6}},
		"key":              {audit.Filter{KeyID: "k-free"}, []int{6}},
		"revision":         {audit.Filter{Revision: "rev-2"}, []int{7}},
		"target":           {audit.Filter{Target: "claude-sonnet-5"}, []int{7}},
		"attempted only":   {audit.Filter{Target: "claude-opus-5-5"}, nil},
		"query model":      {audit.Filter{Query: "sonn"}, []int{7}},
		"query tags":       {audit.Filter{Query: "100%_"}, []int{6}},
		"query wildcard":   {audit.Filter{Query: "1%s"}, nil},
		"query id":         {audit.Filter{Query: "0000004"}, []int{4}},
		"from":             {audit.Filter{From: at(7)}, []int{9, 8, 7}},
		"to":               {audit.Filter{To: at(2)}, []int{1, 0}},
		"from to":          {audit.Filter{From: at(3), To: at(5)}, []int{4, 3}},
		"long one's time":  {audit.Filter{From: at(8), To: at(9)}, []int{8}},
		"future":           {audit.Filter{From: at(3600)}, nil},
		"past":             {audit.Filter{To: at(-3600)}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := db.Decisions(context.Background(), tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, d := range list {
				got = append(got, number(t, d.ID))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			tt.filter.Limit = 0
			if n, err := db.CountSince(context.Background(), tt.filter); err != nil || name != "limit" && n != len(tt.want) {
				t.Errorf("count %d, %v", n, err)
			}
		})
	}
}

func TestDecisions_Paging(t *testing.T) {
	t.Parallel()
	db := history(t)
	var got []int
	f := audit.Filter{Limit: 3}
	for {
		list, err := db.Decisions(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, d := range list {
			got = append(got, number(t, d.ID))
		}
		f.Before = list[len(list)-1].Seq
	}
	if !slices.Equal(got, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}) {
		t.Errorf("pages: %v", got)
	}
	list, err := db.Decisions(context.Background(), audit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := db.CountSince(context.Background(), audit.Filter{After: list[4].Seq, Before: 1}); err != nil || n != 4 {
		t.Errorf("count since the fifth: %d, %v", n, err)
	}
	tail, err := db.Decisions(context.Background(), audit.Filter{After: list[4].Seq})
	if err != nil || len(tail) != 4 || tail[0].ID != list[0].ID {
		t.Errorf("tail: %d, %v", len(tail), err)
	}
}

func TestDecision_Neighbours(t *testing.T) {
	t.Parallel()
	db := history(t)
	for id, want := range map[int][2]string{0: {"", "1"}, 5: {"4", "6"}, 9: {"8", ""}} {
		d, err := db.Decision(context.Background(), fmt.Sprintf("0d%022d", id))
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range []string{d.Previous, d.Next} {
			if got != "" {
				got = fmt.Sprint(number(t, got))
			}
			if got != want[i] {
				t.Errorf("neighbours of %d: %q, %q, want %v", id, d.Previous, d.Next, want)
			}
		}
	}
}

func TestEvents_Paging(t *testing.T) {
	t.Parallel()
	db := history(t)
	ctx := context.Background()
	all, err := db.Events(ctx, 0, 0, nil, 0)
	if err != nil || len(all) != 5 || all[4].Kind != "run" { // four levels and the start
		t.Fatalf("%d events, %v", len(all), err)
	}
	older, err := db.Events(ctx, all[1].Seq, 0, []string{"level", "gap"}, 2)
	if err != nil || len(older) != 2 || older[0].Seq != all[2].Seq || older[1].Seq != all[3].Seq {
		t.Errorf("older: %+v, %v", older, err)
	}
	newer, err := db.Events(ctx, 0, all[1].Seq, nil, 0)
	if err != nil || len(newer) != 1 || newer[0].Seq != all[0].Seq {
		t.Errorf("newer: %+v, %v", newer, err)
	}
}

// TestDecisions_TimeRanges compares with counting by hand: rows are in the order
// of ending, and requests of very different length overlap.
func TestDecisions_TimeRanges(t *testing.T) {
	t.Parallel()
	db := open(t, config(t))
	random := rand.New(rand.NewPCG(1, 2))
	type request struct{ at, end time.Time }
	var all []request
	for range 400 {
		at := noon().Add(time.Duration(random.IntN(7200)) * time.Second)
		all = append(all, request{at, at.Add(time.Duration(random.IntN(600)) * time.Second)})
	}
	slices.SortFunc(all, func(a, b request) int { return a.end.Compare(b.end) })
	for i, r := range all {
		db.Record(&core.Decision{ID: fmt.Sprint(i), At: r.at, Duration: r.end.Sub(r.at)})
	}
	flush(t, db)
	for range 50 {
		from := noon().Add(time.Duration(random.IntN(8000)-400) * time.Second)
		to := from.Add(time.Duration(random.IntN(4000)) * time.Second)
		want := 0
		for _, r := range all {
			if !r.at.Before(from) && r.at.Before(to) {
				want++
			}
		}
		list, err := db.Decisions(context.Background(), audit.Filter{From: from, To: to, Limit: 500})
		if err != nil || len(list) != want {
			t.Errorf("%v to %v: %d rows, want %d: %v", from, to, len(list), want, err)
		}
	}
}
