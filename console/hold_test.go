package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/console/storybook"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/circuit"
)

func TestHold_Form(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		form []string
		want core.Override
	}{
		"open, all use cases": {
			[]string{"hold", "forced_open", "use_case", "", "reason", "  vendor page ", "minutes", "15"},
			core.Override{Target: "claude-opus-5-5", Hold: circuit.HoldOpen, Reason: "vendor page", Until: storybook.Now().Add(15 * time.Minute)},
		},
		"closed, one use case": {
			[]string{"hold", "forced_closed", "use_case", "batch", "reason", "x", "minutes", "1440"},
			core.Override{Target: "claude-opus-5-5", UseCase: "batch", Hold: circuit.HoldClosed, Reason: "x", Until: storybook.Now().Add(24 * time.Hour)},
		},
		"observe": {
			[]string{"hold", "observe", "use_case", "payments", "reason", "x", "minutes", "5"},
			core.Override{Target: "claude-opus-5-5", UseCase: "payments", Hold: circuit.HoldObserve, Reason: "x", Until: storybook.Now().Add(5 * time.Minute)},
		},
		"emergency for all targets": {
			[]string{"hold", "emergency", "use_case", "batch", "everywhere", "1", "reason", "x", "minutes", "60"},
			core.Override{UseCase: "batch", Hold: circuit.HoldEmergency, Reason: "x", Until: storybook.Now().Add(time.Hour)},
		},
	} {
		b := newBench(t)
		to := b.post(opusPage+"/hold", tc.form...).status(http.StatusSeeOther).leadsTo(opusPage)
		tc.want.By, tc.want.At = storybook.Operator, storybook.Now()
		if got := b.book.Overrides; len(got) != 1 || !reflect.DeepEqual(got[0], tc.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
		says(t, b.get(to).status(http.StatusOK), "The hold is in force.", "Why: "+tc.want.Reason)
	}
}

func TestHold_FormErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ field, value, says string }{
		"no hold":              {"hold", "", "Choose what the circuits are to do."},
		"unknown hold":         {"hold", "none", "Choose what the circuits are to do."},
		"no reason":            {"reason", "  ", "Say why: the next operator will ask."},
		"long reason":          {"reason", strings.Repeat("x", 501), "at most 500 bytes"},
		"no expiry":            {"minutes", "", "at most 24 hours"},
		"no time at all":       {"minutes", "0", "at most 24 hours"},
		"too long":             {"minutes", "1441", "at most 24 hours"},
		"unknown use case":     {"use_case", "gaming", "The use case gaming does not use claude-sonnet-5."},
		"not its use case":     {"use_case", "payments", "The use case payments does not use claude-sonnet-5."},
		"open for all targets": {"everywhere", "1", "All targets at once is for the emergency preset"},
	} {
		b := newBench(t)
		form := map[string]string{"hold": "forced_open", "use_case": "batch", "reason": "vendor page", "minutes": "30"}
		form[tc.field] = tc.value
		var list []string
		for k, v := range form {
			list = append(list, k, v)
		}
		a := b.post("/console/targets/claude-sonnet-5/hold", list...).status(http.StatusUnprocessableEntity).wholePage()
		says(t, a, tc.says, "No hold was put in force.")
		if tc.field != "reason" {
			a.has(`value="vendor page"`) // what was typed is kept
		}
		if tc.field != "minutes" {
			a.has(`value="30" selected`)
		}
		if len(b.book.Overrides) != 0 {
			t.Errorf("%s: held all the same: %+v", name, b.book.Overrides)
		}
	}
}

func TestHold_EmergencyForAllNeedsAUseCase(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	says(t, b.post(opusPage+"/hold", "hold", "emergency", "use_case", "", "everywhere", "1", "reason", "x", "minutes", "15").
		status(http.StatusUnprocessableEntity), "All targets at once is for the emergency preset, and for one use case")
}

func TestHold_Release(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	to := b.post(solPage+"/release", "use_case", "assistant").status(http.StatusSeeOther).leadsTo(solPage)
	says(t, b.get(to), "Released: what is computed is in effect", "None: what is computed is in effect.")
	b.post(solPage+"/release", "use_case", "batch", "everywhere", "1").status(http.StatusSeeOther)
	b.post(solPage+"/release", "use_case", "", "everywhere", "1").status(http.StatusNotFound)
	want := []core.Override{
		{At: storybook.Now(), Target: "gpt-6-sol", UseCase: "assistant", By: storybook.Operator},
		{At: storybook.Now(), UseCase: "batch", By: storybook.Operator},
	}
	if !reflect.DeepEqual(b.book.Overrides, want) {
		t.Errorf("got %+v, want %+v", b.book.Overrides, want)
	}
}

// A refusal of the engine's is shown, with what was typed; an internal error's
// text is not.
func TestHold_Refused(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *console.Config) { c.Holds = refusedHolds{} })
	form := []string{"hold", "observe", "use_case", "batch", "reason", "new thresholds", "minutes", "30"}
	b.post(opusPage+"/hold", form...).status(http.StatusUnprocessableEntity).wholePage().
		has("the expiry must lie ahead", "Nothing was changed", `value="new thresholds"`, `value="observe" required checked`, `value="30" selected`)
	b = newBench(t)
	b.book.Fail = errors.New("disk on fire")
	b.post(opusPage+"/hold", form...).status(http.StatusInternalServerError).lacks("fire").has("Nothing was changed")
	b.post(opusPage + "/release").status(http.StatusInternalServerError).lacks("fire")
}

type refusedHolds struct{}

func (refusedHolds) Hold(context.Context, core.Override) error {
	return fmt.Errorf("%w: the expiry must lie ahead", console.ErrRefused)
}

func (refusedHolds) Release(context.Context, string, string, string) error { return nil }

func TestHold_Guards(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	form := []string{"hold", "forced_open", "reason", "x", "minutes", "15"}
	for _, path := range []string{opusPage + "/hold", opusPage + "/release"} {
		r := request(http.MethodPost, path, values(form...).Encode())
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		if got := b.do(r).StatusCode; got != http.StatusForbidden {
			t.Errorf("%s from another site: %d", path, got)
		}
		if got := b.get(path).StatusCode; got != http.StatusNotFound && got != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: %d", path, got)
		}
	}
	for _, sid := range []string{"", b.book.SignedIn(true)} {
		b.sid = sid
		b.post(opusPage+"/hold", form...)
		b.post(opusPage+"/release", form...)
		if a := b.get(opusPage); a.StatusCode != http.StatusSeeOther {
			t.Errorf("session %q sees the page: %d", sid, a.StatusCode)
		}
	}
	if len(b.book.Overrides) != 0 {
		t.Errorf("a stranger held circuits: %+v", b.book.Overrides)
	}
}
