package store

import (
	"crypto/rand"
	"strings"
	"time"
)

// The causes of gaps.
const (
	gapQueueFull = "queue_full" // the disk could not keep up, events were refused
	gapCrash     = "crash"      // accepted events were lost with the process
)

// runIDLen is what the counter file has room for.
const runIDLen = 16

func newRunID() string { return strings.ToLower(rand.Text()[:runIDLen]) }

// lastRun is the run row of the process before.
type lastRun struct {
	id      string
	stopped bool
	counts  runCounts
}

func (w *writer) lastRun() (lastRun, error) {
	row, err := w.c.row("SELECT id, stopped_us IS NOT NULL, written, dropped, last_us FROM run")
	if err != nil || row == nil {
		return lastRun{stopped: true}, err
	}
	var r lastRun
	r.id, _ = row[0].(string)
	stopped, _ := row[1].(int64)
	r.stopped = stopped == 1
	r.counts.written, _ = row[2].(int64)
	r.counts.dropped, _ = row[3].(int64)
	r.counts.lastUS, _ = row[4].(int64)
	return r, nil
}

// begin accounts for the process before and starts the run, in one transaction.
func (w *writer) begin(version string, c *counter) error {
	last, err := w.lastRun()
	if err != nil {
		return err
	}
	n, counted := c.read()
	w.run = newRunID()
	now := w.now()
	return w.c.inTx(func() error {
		if !last.stopped {
			if err := w.writeCrash(last, n, counted, now); err != nil {
				return err
			}
		}
		e := encoder{b: []byte{'{'}}
		e.text("what", "started")
		e.text("version", version)
		e.flag("after_crash", !last.stopped)
		if err := w.append(now.UnixMicro(), kindRun, w.run, append(e.b, '}')); err != nil {
			return err
		}
		_, err := w.exec(`INSERT OR REPLACE INTO run (one, id, started_us, stopped_us, written, dropped, last_us)
			VALUES (1, ?, ?, NULL, 0, 0, ?)`, w.run, now.UnixMicro(), now.UnixMicro())
		w.told = runCounts{lastUS: now.UnixMicro()}
		return err
	})
}

// writeCrash records what the process before had accepted or refused and could
// not write any more: exactly, if its counter can be trusted.
func (w *writer) writeCrash(last lastRun, n count, counted bool, now time.Time) error {
	exact := counted && n.run == last.id && n.sameBoot &&
		n.accepted >= last.counts.written && n.dropped >= last.counts.dropped
	if !exact {
		return w.writeGap(gapCrash, last.id, loss{from: last.counts.lastUS, to: now.UnixMicro()}, false)
	}
	if lost := n.accepted - last.counts.written; lost > 0 {
		span := loss{count: lost, from: last.counts.lastUS, to: n.lastUS}
		if err := w.writeGap(gapCrash, last.id, span, true); err != nil {
			return err
		}
	}
	if refused := n.dropped - last.counts.dropped; refused > 0 {
		return w.writeGap(gapQueueFull, last.id, loss{count: refused, from: last.counts.lastUS, to: n.lastUS}, true)
	}
	return nil
}

// writeGap records events that are missing. Without an exact count it names
// none: a guess in an audit is worse than an admission.
func (w *writer) writeGap(cause, run string, l loss, exact bool) error {
	e := encoder{b: []byte{'{'}}
	e.text("cause", cause)
	if exact {
		e.number("missing", l.count)
	}
	e.flag("exact", exact)
	e.number("from_us", l.from)
	e.number("to_us", l.to)
	e.text("run", run)
	return w.append(w.now().UnixMicro(), kindGap, run, append(e.b, '}'))
}

func (w *writer) writeStopped() error {
	now := w.now().UnixMicro()
	e := encoder{b: []byte{'{'}}
	e.text("what", "stopped")
	e.number("written", w.told.written)
	e.number("dropped", w.told.dropped)
	if err := w.append(now, kindRun, w.run, append(e.b, '}')); err != nil {
		return err
	}
	_, err := w.exec("UPDATE run SET stopped_us = ?", now)
	return err
}
