package console

import (
	"context"
	"slices"
)

// logLength is how many events a target's page lists.
const logLength = 20

// logKinds are the events that are about one target.
func logKinds() []string { return []string{"transition", "override", "cooldown"} }

// targetLog is what happened to one target, newest first.
type targetLog struct {
	items []feedItem
	// read says that what happened before the start was taken from the history.
	read bool
}

// log notes a live event in its target's log. The caller holds mu.
func (f *feed) log(it feedItem) {
	if slices.Contains(logKinds(), it.Kind) {
		l := f.logOf(it.Subject)
		l.items = insert(l.items, it, logLength)
	}
}

func (f *feed) logOf(target string) *targetLog {
	l := f.logs[target]
	if l == nil {
		l = &targetLog{}
		f.logs[target] = l
	}
	return l
}

// of returns what happened to a target, holds on all targets included.
func (f *feed) of(target string) []feedItem {
	f.mu.Lock()
	defer f.mu.Unlock()
	var items []feedItem
	for _, name := range []string{target, ""} {
		if l := f.logs[name]; l != nil {
			for _, it := range l.items {
				items = insert(items, it, logLength)
			}
		}
	}
	return items
}

// logPages bounds how far back a target's events are looked for.
const logPages = 4

// learn takes over what the history has of a target from before the start,
// once: that never changes, and later events come live.
func (f *feed) learn(ctx context.Context, h History, target string) error {
	f.mu.Lock()
	read := f.logOf(target).read
	f.mu.Unlock()
	if read {
		return nil
	}
	var old []feedItem
	for before, page := int64(0), 0; page < logPages && len(old) < logLength; page++ {
		events, err := h.Events(ctx, before, 0, readLength, logKinds()...)
		if err != nil {
			return err
		}
		for _, e := range events {
			before = e.Seq
			if it := recordedItem(e); e.At.Before(f.started) && (it.Subject == target || it.Subject == "") {
				old = append(old, it)
			}
		}
		if len(events) < readLength {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.logOf(target)
	if l.read {
		return nil
	}
	l.read = true
	for _, it := range old {
		l.items = insert(l.items, it, logLength)
	}
	return nil
}
