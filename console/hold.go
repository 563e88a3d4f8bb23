package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

// holdMinutes are the offered lengths of a hold; the second is the default, so
// that a forgotten hold is a short one.
func holdMinutes() []int { return []int{5, 15, 30, 60, 240, 480, 1440} }

const defaultHoldMinutes = 15

// holdForm is the form of a hold as it was sent, with what stands against it.
type holdForm struct {
	Hold    string
	UseCase string // "" for all of the target
	// Everywhere holds all targets of the use case.
	Everywhere bool
	Minutes    int
	Reason     changeForm
	// HoldError, ReachError and TimeError are beside their fields.
	HoldError, ReachError, TimeError string
}

func newHoldForm() holdForm { return holdForm{Minutes: defaultHoldMinutes} }

func (f *holdForm) wrong() bool {
	return f.HoldError != "" || f.ReachError != "" || f.TimeError != "" || f.Reason.Error != ""
}

// readHold reads the form and says beside each field what is wrong with it.
func readHold(r *http.Request, p page, rev *core.Revision, target string) (f holdForm, o core.Override, err error) {
	if err := r.ParseForm(); err != nil {
		return f, o, err
	}
	get := r.PostForm.Get
	f = holdForm{Hold: get("hold"), UseCase: get("use_case"), Everywhere: get("everywhere") != ""}
	f.Reason.Reason, f.Reason.Error = reason(r, p)
	at := slices.IndexFunc(circuit.Holds(), func(h circuit.Hold) bool { return h.String() == f.Hold })
	if at < 0 {
		f.HoldError = p.T("hold.missing")
	} else {
		o.Hold = circuit.Holds()[at]
	}
	switch {
	case f.UseCase != "" && !uses(rev, f.UseCase, target):
		f.ReachError = p.T("hold.unknown_use_case", f.UseCase, target)
	case f.Everywhere && (o.Hold != circuit.HoldEmergency || f.UseCase == ""):
		f.ReachError = p.T("hold.everywhere.only")
	}
	minutes, err := strconv.Atoi(get("minutes"))
	if most := int(core.MaxHold / time.Minute); err != nil || minutes < 1 || minutes > most {
		minutes, f.TimeError = defaultHoldMinutes, p.T("hold.minutes.wrong", most/60)
	}
	f.Minutes = minutes
	o.Target, o.UseCase = reach(r, target)
	o.By, o.Reason = p.Session.Operator, f.Reason.Reason
	o.Until = p.c.cfg.Now().Add(time.Duration(minutes) * time.Minute)
	return f, o, nil
}

// uses reports whether a use case uses a target.
func uses(rev *core.Revision, useCase, target string) bool {
	i, _ := rev.Catalog.TargetIndex(target)
	u := slices.IndexFunc(rev.Tables.UseCases, func(u core.UseCase) bool { return u.ID == useCase })
	return u >= 0 && served(rev, u, i)
}

// reach is what a form about holds on a target's page is about.
func reach(r *http.Request, target string) (heldTarget, useCase string) {
	if r.PostForm.Get("everywhere") != "" {
		target = ""
	}
	return target, r.PostForm.Get("use_case")
}

// reason reads the form's reason and says what is wrong with it.
func reason(r *http.Request, p page) (text, wrong string) {
	text = strings.TrimSpace(r.PostForm.Get("reason"))
	switch {
	case text == "":
		wrong = p.T("reason.missing")
	case len(text) > maxReason:
		wrong = p.T("reason.long", maxReason)
	}
	return text, wrong
}

// hold serves POST …/hold. Whatever stands against it, the form is kept and
// shown again.
func (c *Console) hold(w http.ResponseWriter, r *http.Request, p page) error {
	id := r.PathValue("id")
	rev := c.cfg.Live.Revision()
	if _, ok := rev.Catalog.TargetIndex(id); !ok {
		return c.noTarget(w, r, p, id)
	}
	f, o, err := readHold(r, p, rev, id)
	if err != nil {
		return err
	}
	if f.wrong() {
		return c.showTarget(w, r, p, http.StatusUnprocessableEntity, targetView{Form: f})
	}
	err = c.cfg.Holds.Hold(r.Context(), o)
	if errors.Is(err, ErrRefused) {
		f.Reason.Refused = err.Error()
		return c.showTarget(w, r, p, http.StatusUnprocessableEntity, targetView{Form: f})
	}
	if err != nil {
		return err
	}
	return leadTo(w, r, p, targetPath(id, "?done=held"))
}

// release serves POST …/release: the holds inside the reach that the form names.
func (c *Console) release(w http.ResponseWriter, r *http.Request, p page) error {
	id := r.PathValue("id")
	if _, ok := c.cfg.Live.Revision().Catalog.TargetIndex(id); !ok {
		return c.noTarget(w, r, p, id)
	}
	if err := r.ParseForm(); err != nil {
		return err
	}
	target, useCase := reach(r, id)
	if target == "" && useCase == "" {
		return ErrNotFound
	}
	if err := c.cfg.Holds.Release(r.Context(), target, useCase, p.Session.Operator); err != nil {
		return err
	}
	return leadTo(w, r, p, targetPath(id, "?done=released"))
}
