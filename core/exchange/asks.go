package exchange

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-llm/spillway/core"
)

// The bounds of what callers may say in headers.
const (
	maxPriority        = 10
	maxLatencyBudgetMS = 600_000 // the longest that a whole request may take (R3.1)
	maxAffinityBytes   = 256
	maxTagsBytes       = 256
)

// asks are the Spillway headers of one request, checked but not yet bounded by
// the key's grants.
type asks struct {
	useCase       string
	task          core.Task
	priority      int
	latencyMS     int
	quality       core.Quality
	affinity      string
	forceFallback bool
	tags          string
}

// headerPrefix starts every header that asks for something.
const headerPrefix = "Spillway-"

// askNames are the headers that callers may send.
func askNames() []string {
	return []string{
		"Spillway-Use-Case", "Spillway-Task", "Spillway-Priority", "Spillway-Latency-Budget", "Spillway-Quality",
		"Spillway-Affinity", "Spillway-Force-Fallback", "Spillway-Cache", "Spillway-Tags",
	}
}

// readAsks reads the Spillway headers. A misspelt one is an error: as a silent
// default it would be found out much later.
func readAsks(h http.Header) (asks, *core.Error) {
	a := asks{
		task: core.TaskSimple, priority: core.DefaultPriority, quality: core.QualityBalanced,
		latencyMS: core.DefaultLatencyBudgetMS,
	}
	var first *core.Error
	at := ""
	for name, values := range h {
		if !strings.HasPrefix(name, headerPrefix) {
			continue
		}
		e := a.set(name, values)
		if e != nil && (first == nil || name < at) {
			first, at = e, name // of several, always the same one
		}
	}
	return a, first
}

// set takes one header.
func (a *asks) set(name string, values []string) *core.Error {
	if len(values) != 1 {
		return BadRequest("header %s was sent %d times: send it once", name, len(values))
	}
	v := values[0]
	var e *core.Error
	switch name {
	case "Spillway-Use-Case":
		a.useCase = v
	case "Spillway-Task":
		a.task, e = oneOf(name, v, core.Tasks())
	case "Spillway-Priority":
		a.priority, e = number(name, v, 0, maxPriority)
	case "Spillway-Latency-Budget":
		a.latencyMS, e = number(name, v, 1, maxLatencyBudgetMS)
	case "Spillway-Quality":
		a.quality, e = oneOf(name, v, core.Qualities())
	case "Spillway-Affinity":
		a.affinity, e = text(name, v, maxAffinityBytes)
	case "Spillway-Force-Fallback":
		a.forceFallback, e = boolean(name, v)
	case "Spillway-Cache":
		_, e = oneOf(name, v, []string{"off"}) // there is none yet: off is what everybody has
	case "Spillway-Tags":
		a.tags, e = text(name, v, maxTagsBytes)
	default:
		return unknownAsk(name)
	}
	return e
}

func unknownAsk(name string) *core.Error {
	hint := ""
	if near := Nearest(name, askNames(), 1); len(near) > 0 {
		hint = "did you mean " + near[0] + "? "
	}
	return BadRequest("header %.60q is not known: %sknown are %s", name, hint, strings.Join(askNames(), ", "))
}

func oneOf[T ~string](name, v string, known []T) (T, *core.Error) {
	if i := slices.Index(known, T(v)); i >= 0 {
		return known[i], nil
	}
	list := make([]string, len(known))
	for i, k := range known {
		list[i] = string(k)
	}
	return known[0], BadRequest("header %s is %.60q: use %s", name, v, strings.Join(list, ", "))
}

func number(name, v string, least, most int) (int, *core.Error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return 0, BadRequest("header %s is %.60q: use a whole number from %d to %d", name, v, least, most)
	}
	return n, nil
}

func boolean(name, v string) (bool, *core.Error) {
	switch v {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, BadRequest("header %s is %.60q: use true or false", name, v)
}

func text(name, v string, most int) (string, *core.Error) {
	if len(v) > most {
		return "", BadRequest("header %s has %d bytes: at most %d are kept", name, len(v), most)
	}
	for i := range len(v) {
		if v[i] < ' ' || v[i] > '~' {
			return "", BadRequest("header %s: byte %d is not printable ASCII", name, i+1)
		}
	}
	return v, nil
}
