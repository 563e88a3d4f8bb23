package exchange

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/spillway-llm/spillway/core"
)

// statusCallerGone is recorded for callers that left; nobody receives it.
const statusCallerGone = 499

// fail tells the caller about a failure and returns the status for the record.
func (x *Exchange) fail(err error) int {
	var e *core.Error
	if !errors.As(err, &e) {
		e = &core.Error{Op: "run request", Kind: core.KindOf(err), Err: err}
	}
	if e.Kind == core.KindCallerGone {
		return statusCallerGone
	}
	d := &x.Request.Decision
	detail := x.pool.cfg.Engine.Disclosure(&d.Facts, core.SituationNone).Detail
	told := *e
	if detail != core.DetailTarget && detail != core.DetailAdmin {
		told.Tried = nil // the chain is not everybody's business (R11.1)
	}
	d.Disclosed = core.Disclosed{Detail: detail}
	n := Notice{decision: d.ID, idHeader: RequestIDHeader(x.format.Wire())}
	if detail == core.DetailAdmin {
		n.policy, n.circuits, n.attempts = d.Revision, circuitsText(d), failedAttemptsText(d)
	}
	n.adviseRetry(e, len(d.Attempts))
	x.sink.Announce(n)
	body, status := x.format.AppendError(x.out[:0], &told, d.ID)
	x.out = body
	sent, err := x.sink.Whole(status, body)
	if !sent && err == nil {
		// A proper error event, never a silent or synthetic end (R6.2).
		status = http.StatusOK
		x.out = x.format.AppendErrorEvent(x.out[:0], &told, d.ID)
		err = x.sink.Cut(x.out)
	}
	if err != nil {
		return statusCallerGone
	}
	return status
}

// failedAttemptsText is the chain of a request that nobody answered.
func failedAttemptsText(d *core.Decision) string {
	s := strconv.Itoa(len(d.Attempts))
	for i := range d.Attempts {
		s += "; " + d.Attempts[i].Target + "=" + d.Attempts[i].Kind.String()
	}
	return s
}
