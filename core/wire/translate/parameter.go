package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// refuses reports whether the target's server takes no field of that name.
func (d *draft) refuses(name string) bool { return slices.Contains(d.target.Profile.Refuses, name) }

// maxTokens writes the output limit under the target's name for it and returns
// it. A limit over the target's own is lowered; where none was asked for, needed
// takes the target's.
func (d *draft) maxTokens(asked []byte, name, path string, needed bool) int64 {
	limit := int64(d.target.MaxOutput)
	n, ok := walk.Int(asked)
	switch {
	case asked == nil && !needed:
		return 0
	case asked == nil && limit <= 0:
		d.block(path + "=absent")
		return 0
	case asked == nil:
		n = limit
		d.warn("%s set to the target's limit of %d", path, limit)
	case !ok || n == 0:
		d.block(path + "=" + label(asked)) // 0 warms a cache, which no other vendor has
		return 0
	case limit > 0 && n > limit:
		n = limit
		d.warn("%s lowered to the target's limit of %d", path, limit)
	}
	d.field(name, strconv.AppendInt(nil, n, 10))
	return n
}

// sampling writes temperature and top_p as far as the target takes them.
func (d *draft) sampling(f fields, mode core.Sampling, highest float64) {
	kept := false
	for _, name := range []string{"temperature", "top_p"} {
		v := f.get(name)
		if v == nil {
			continue
		}
		x, err := strconv.ParseFloat(string(v), 64)
		switch {
		case err != nil:
			d.block(name + "=" + kind(v))
		case mode == core.SamplingNone || d.refuses(name):
			d.drop(name, name)
		case mode == core.SamplingOne && kept:
			d.warn("top_p dropped: the target takes it or temperature")
		case name == "temperature" && x > highest:
			kept = true
			d.warn("temperature lowered to %g", highest)
			d.field(name, strconv.AppendFloat(nil, highest, 'g', -1, 64))
		default:
			kept = true
			d.field(name, v)
		}
	}
}

// maxStops is how many stop sequences OpenAI takes.
const maxStops = 4

// stops writes the stop sequences: a string or an array of them. At most limit
// fit, 0 for any number.
func (d *draft) stops(v []byte, name, path string, limit int) {
	var list [][]byte
	switch kind(v) {
	case "absent":
		return
	case "string":
		list = append(list, v)
	default:
		d.each(v, path, func(at string, s []byte) {
			switch {
			case !walk.IsString(s):
				d.block(at + "=" + kind(s))
			case blank(s):
				d.change("stop_sequences", at, "dropped: it is blank")
			default:
				list = append(list, s)
			}
		})
	}
	switch {
	case len(list) == 0:
		return
	case d.target.Traits.NoStop || d.refuses(name):
		d.block(path)
		return
	case limit > 0 && len(list) > limit:
		d.block(fmt.Sprintf("%s[%d]", path, limit))
		return
	}
	d.field(name, array(list))
}

// array writes values as an array.
func array(values [][]byte) []byte {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}

// How long a user's identifier may be.
const (
	maxSafetyIdentifier = 128
	maxUserID           = 512
)

// identifier returns a user's identifier of at most so many bytes. A longer one
// is hashed: the same user keeps one identifier.
func (d *draft) identifier(id []byte, path string, most int) []byte {
	raw := walk.Bytes(id)
	if len(raw) <= most {
		return id
	}
	sum := sha256.Sum256(raw)
	d.warn("%s hashed: it is longer than %d bytes", path, most)
	return quote.Append(nil, hex.EncodeToString(sum[:]))
}

// safetyIdentifier writes an Anthropic user id under the name that the target
// has for it.
func (d *draft) safetyIdentifier(metadata []byte) {
	if metadata == nil {
		return
	}
	id := d.read(metadata, "metadata.", func(name string) fate {
		if name == "user_id" {
			return carried
		}
		return unknown
	}).get("user_id")
	switch {
	case id == nil:
	case !walk.IsString(id):
		d.block("metadata.user_id=" + kind(id))
	case !d.refuses("safety_identifier"):
		d.field("safety_identifier", d.identifier(id, "metadata.user_id", maxSafetyIdentifier))
	case !d.refuses("user"):
		d.field("user", d.identifier(id, "metadata.user_id", maxSafetyIdentifier))
	default:
		d.drop("metadata.user_id", "metadata.user_id")
	}
}

// userID writes a Chat Completions caller's user as Anthropic's.
func (d *draft) userID(f fields) {
	for _, name := range []string{"safety_identifier", "user"} {
		id := f.get(name)
		if id == nil {
			continue
		}
		if !walk.IsString(id) {
			d.block(name + "=" + kind(id))
			return
		}
		id = d.identifier(id, name, maxUserID)
		d.field("metadata", append(append([]byte(`{"user_id":`), id...), '}'))
		return
	}
}

// tier writes the service tier where the other vendor has the same; no request
// ends up in a dearer one.
func (d *draft) tier(v []byte) {
	switch string(walk.Bytes(v)) {
	case "":
	case "auto":
		d.field("service_tier", []byte(`"auto"`))
	case "default":
		d.field("service_tier", []byte(`"standard_only"`))
		d.warn("service_tier carried as standard_only")
	default:
		d.drop("service_tier", "service_tier")
	}
}
