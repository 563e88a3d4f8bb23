// Package translate puts requests and answers of one vendor's form into the
// other's, and says what it can't carry.
//
// Every field has one of three fates (wire.md 3): it is carried; it is dropped
// or changed with a warning; or it makes the request not portable, and the
// target is skipped. What a target takes is data: its capabilities, its
// [core.Profile] and its [core.Traits].
package translate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// Form is a request in the target's own form.
type Form struct {
	// Body is nil when there are blockers.
	Body []byte
	// Warnings say what was changed or left out, in ASCII, each naming its field.
	Warnings []string
	// Blockers are the JSON paths of all that can't be carried, in ASCII, for
	// example messages[2].content[0].type=server_tool_use. A request that is all
	// blockers has the first thousand of them.
	Blockers []string
	// Names are the tool names that had to be shortened, for the way back.
	Names Names
}

// Names gives the caller's tool names by the ones that the target got. Nil is
// none.
type Names map[string]string

// given returns the caller's name for one of the target's.
func (n Names) given(name []byte) []byte {
	if own, ok := n[string(name)]; ok {
		return []byte(own)
	}
	return name
}

// Request puts a body that came in one vendor's form into the other's, for a
// target; it makes no call. The body must have passed its own format's Peek. An
// error is a [*core.Error] of KindNotPortable whose Type and Err name the
// blockers, the first few of them when there are many; the form then has
// warnings and blockers and no body.
func Request(from, to core.Wire, doc []byte, t *core.Target) (Form, error) {
	d := draft{target: t}
	switch {
	case from == core.WireAnthropic && to == core.WireOpenAI:
		d.ids = toolIDs{rule: t.Profile.ToolID, prefix: "call_"}
		d.toOpenAI(doc)
	case from == core.WireOpenAI && to == core.WireAnthropic:
		d.ids = toolIDs{word: true, prefix: "toolu_"}
		d.toAnthropic(doc)
	default:
		d.block(fmt.Sprintf("%s to %s", from, to))
	}
	if len(d.blockers) == 0 {
		if path := checkpoint(to, d.out, &t.Profile); path != "" {
			d.block(path)
		}
	}
	f := Form{Warnings: d.warnings(), Blockers: d.blockers, Names: d.names.given}
	if len(d.blockers) > 0 {
		return f, notPortable(d.blockers)
	}
	f.Body = d.out
	return f, nil
}

// maxNamed is how many blockers an error names.
const maxNamed = 8

func notPortable(blockers []string) *core.Error {
	paths := strings.Join(blockers[:min(len(blockers), maxNamed)], ", ")
	if more := len(blockers) - maxNamed; more > 0 {
		paths += fmt.Sprintf(" and %d more", more)
	}
	return &core.Error{
		Op: "translate the request", Kind: core.KindNotPortable, Type: paths, Err: errors.New(paths),
		Message: "The request can't be carried over to another vendor because of " + paths +
			". Leave it out, or ask for a model that takes the request as it is.",
	}
}

// draft is a request being written. What blocks it is collected, so that its
// caller hears of everything at once.
type draft struct {
	target   *core.Target
	out      []byte
	blockers []string
	notes    []note
	names    toolNames
	ids      toolIDs
}

// note is a change that is told, and how often it was made.
type note struct {
	what, first, did string
	places           int
}

// maxBlockers bounds what a body of nothing but blockers costs.
const maxBlockers = 1000

// block makes the request not portable because of what is at the path.
func (d *draft) block(path string) {
	if len(d.blockers) < maxBlockers {
		d.blockers = append(d.blockers, path)
	}
}

// warn tells of a change to one field.
func (d *draft) warn(format string, args ...any) {
	d.notes = append(d.notes, note{did: fmt.Sprintf(format, args...)})
}

// change tells what was done with the field of that name at the path. Fields of
// one name share a warning: markers come by the dozen.
func (d *draft) change(name, path, did string) {
	for i := range d.notes {
		if n := &d.notes[i]; n.what == name && n.did == did {
			n.places++
			return
		}
	}
	d.notes = append(d.notes, note{what: name, first: path, did: did, places: 1})
}

// drop tells of a field that is left out.
func (d *draft) drop(name, path string) { d.change(name, path, "dropped") }

func (d *draft) warnings() []string {
	var all []string
	for _, n := range d.notes {
		switch {
		case n.what == "":
			all = append(all, n.did)
		case n.places == 1:
			all = append(all, n.first+" "+n.did)
		default:
			all = append(all, fmt.Sprintf("%s %s in %d places, first at %s", n.what, n.did, n.places, n.first))
		}
	}
	return all
}

// fate is what becomes of a field.
type fate uint8

const (
	unknown fate = iota // not portable
	carried
	dropped // with a warning
	silent  // dropped: it says nothing that the other form lacks
)

// fields are the values of an object's carried fields, nulls left out. They are
// few: looking through them costs less than a map.
type fields []field

type field struct {
	name  string
	value []byte
}

// get returns a field's value, nil without one. Of a field that is there twice the
// last one counts, as JSON readers have it.
func (f fields) get(name string) []byte {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].name == name {
			return f[i].value
		}
	}
	return nil
}

// read takes an object apart: it keeps what is carried, notes what is dropped
// and blocks at what it doesn't know. A null says nothing, whatever its name.
// The path is that of the object, with a dot at its end, or "".
func (d *draft) read(object []byte, path string, of func(name string) fate) fields {
	var f fields
	w := walk.New(object)
	if w.Kind() != '{' || !w.Enter() {
		d.block(strings.TrimSuffix(path, ".") + "=" + kind(object))
		return f
	}
	for name, ok := w.Member(); ok; name, ok = w.Member() {
		v := w.Value()
		if walk.IsNull(v) {
			continue
		}
		switch key := string(name); of(key) {
		case carried:
			f = append(f, field{key, v})
		case dropped:
			d.drop(string(name), path+string(name))
		case silent:
		default:
			d.block(path + label(name))
		}
	}
	return f
}

// only is the fate of fields where the named ones are carried and cache markers
// are dropped.
func only(names ...string) func(string) fate {
	return func(name string) fate {
		for _, n := range names {
			if n == name {
				return carried
			}
		}
		if name == "cache_control" {
			return dropped
		}
		return unknown
	}
}

// each walks an array and gives each element with its path; anything else blocks.
func (d *draft) each(array []byte, path string, f func(at string, element []byte)) {
	if kind(array) != "array" {
		d.block(path + "=" + kind(array))
		return
	}
	w := walk.New(array)
	w.Enter()
	for i := 0; w.Element(); i++ {
		f(fmt.Sprintf("%s[%d]", path, i), w.Value())
	}
}

// word returns a string field, and blocks at anything else. An absent field is
// nil and no fault.
func (d *draft) word(f fields, name, path string) []byte {
	v := f.get(name)
	if v != nil && !walk.IsString(v) {
		d.block(path + name + "=" + kind(v))
		return nil
	}
	return walk.Bytes(v)
}

// flag reports whether a field is true; anything but a boolean blocks.
func (d *draft) flag(f fields, name, path string) bool {
	v := f.get(name)
	if k := kind(v); k != "absent" && k != "boolean" {
		d.block(path + name + "=" + k)
	}
	return string(v) == "true"
}

// field appends a field with a value that is JSON already.
func (d *draft) field(name string, value []byte) { d.out = appendField(d.out, name, value) }

// appendField appends a field to an open object.
func appendField(dst []byte, name string, value []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(quote.Append(dst, name), ':')
	return append(dst, value...)
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
