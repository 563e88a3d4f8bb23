// Package translate carries plain text conversations from one vendor's form
// into the other's, and says what it can't carry.
//
// What a form has no place for is dropped with a warning where wire.md 3 finds
// that harmless; anything else makes the request not portable, and the target
// is skipped. Labels of a target that count here: "sampling" = "no" for models
// that refuse temperature and top_p, "max_tokens_field" = "max_tokens" for
// servers that don't know max_completion_tokens.
package translate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// Form is a request in the target's own form.
type Form struct {
	Body []byte
	// Warnings say what was changed or left out, in ASCII.
	Warnings []string
}

// Request puts a body that came in one vendor's form into the other's, for a
// target. The body must have passed its own format's Peek. An error is a
// [*core.Error] of KindNotPortable whose Type and Err are the JSON path of what
// can't be carried, for example messages[2].content[0].type=image.
func Request(from, to core.Wire, doc []byte, t *core.Target) (Form, error) {
	d := draft{target: t}
	switch {
	case from == core.WireAnthropic && to == core.WireOpenAI:
		d.toOpenAI(doc)
	case from == core.WireOpenAI && to == core.WireAnthropic:
		d.toAnthropic(doc)
	default:
		d.block(fmt.Sprintf("%s to %s", from, to))
	}
	if d.err == nil {
		d.err = checkpoint(to, d.out)
	}
	if d.err != nil {
		return Form{}, d.err
	}
	return Form{Body: d.out, Warnings: d.allWarnings()}, nil
}

// fate is what becomes of a field.
type fate uint8

const (
	unknown fate = iota // not portable
	carried
	dropped // with a warning
	silent  // dropped: it says nothing that the other form lacks
)

// draft is a request being written. Its first error stays.
type draft struct {
	target   *core.Target
	out      []byte
	err      *core.Error
	warnings []string
	drops    []drop
}

// drop is a field that was left out, and how often.
type drop struct {
	name, first string
	places      int
}

// block makes the request not portable because of what is at the path.
func (d *draft) block(path string) {
	if d.err == nil {
		d.err = notPortable(path)
	}
}

func notPortable(path string) *core.Error {
	return &core.Error{
		Op: "translate the request", Kind: core.KindNotPortable, Type: path, Err: errors.New(path),
		Message: "The request can't be carried over to another vendor because of " + path +
			". Leave it out, or ask for a model that takes the request as it is.",
	}
}

func (d *draft) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

// drop takes note of a field that is left out. Fields of one name share a
// warning: markers come by the dozen.
func (d *draft) drop(name, path string) {
	for i := range d.drops {
		if d.drops[i].name == name {
			d.drops[i].places++
			return
		}
	}
	d.drops = append(d.drops, drop{name, path, 1})
}

func (d *draft) allWarnings() []string {
	all := slices.Clone(d.warnings)
	for _, x := range d.drops {
		w := x.first + " dropped"
		if x.places > 1 {
			w = fmt.Sprintf("%s dropped in %d places, first at %s", x.name, x.places, x.first)
		}
		all = append(all, w)
	}
	return all
}

// fields are the values of an object's carried fields, nulls left out.
type fields map[string][]byte

// read takes an object apart: it keeps what is carried, notes what is dropped
// and blocks at what it doesn't know. The path is that of the object, with a dot
// at its end, or "".
func (d *draft) read(object []byte, path string, of func(name string) fate) fields {
	f := fields{}
	w := walk.New(object)
	if w.Kind() != '{' || !w.Enter() {
		d.block(path + "=" + kind(object))
		return f
	}
	for name, ok := w.Member(); ok && d.err == nil; name, ok = w.Member() {
		v := w.Value()
		switch of(string(name)) {
		case carried:
			if !walk.IsNull(v) {
				f[string(name)] = v
			}
		case dropped:
			if !walk.IsNull(v) {
				d.drop(string(name), path+string(name))
			}
		case silent:
		default:
			d.block(path + label(name))
		}
	}
	return f
}

// label is a name or a value from the request that may be shown: what doesn't
// look like a word could be a part of the prompt.
func label(b []byte) string {
	if len(b) == 0 || len(b) > 64 {
		return "?"
	}
	for _, c := range b {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return "?"
		}
	}
	return string(b)
}

// kind names the type of a value.
func kind(v []byte) string {
	if len(v) == 0 {
		return "absent"
	}
	switch v[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}

// field appends a field with a value that is JSON already.
func (d *draft) field(name string, value []byte) {
	if n := len(d.out); d.out[n-1] != '{' {
		d.out = append(d.out, ',')
	}
	d.out = append(quote.Append(d.out, name), ':')
	d.out = append(d.out, value...)
}

// flag reports whether a field is true; anything but a boolean blocks.
func (d *draft) flag(f fields, name string) bool {
	v := f[name]
	if k := kind(v); k != "absent" && k != "boolean" {
		d.block(name + "=" + k)
	}
	return string(v) == "true"
}
