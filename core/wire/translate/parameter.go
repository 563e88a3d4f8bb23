package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// maxTokens writes the output limit under the target's name for it. A limit over
// the target's own is lowered; where none was asked for, needed takes the
// target's.
func (d *draft) maxTokens(asked []byte, name, path string, needed bool) {
	limit := int64(d.target.MaxOutput)
	n, ok := walk.Int(asked)
	switch {
	case asked == nil && !needed:
		return
	case asked == nil && limit <= 0:
		d.block(path + "=absent")
		return
	case asked == nil:
		n = limit
		d.warn("%s set to the target's limit of %d", path, limit)
	case !ok || n == 0:
		d.block(path + "=" + label(asked)) // 0 warms a cache, which no other vendor has
		return
	case limit > 0 && n > limit:
		n = limit
		d.warn("%s lowered to the target's limit of %d", path, limit)
	}
	d.field(name, strconv.AppendInt(nil, n, 10))
}

// sampling writes temperature and top_p, as far as the target takes them.
func (d *draft) sampling(f fields, highest float64, both bool) {
	for _, name := range []string{"temperature", "top_p"} {
		v := f[name]
		if v == nil {
			continue
		}
		x, err := strconv.ParseFloat(string(v), 64)
		switch {
		case err != nil:
			d.block(name + "=" + kind(v))
			return
		case d.target.Labels["sampling"] == "no":
			d.drop(name, name)
		case name == "top_p" && !both && f["temperature"] != nil:
			d.warn("top_p dropped: the target takes it or temperature")
		case name == "temperature" && x > highest:
			d.warn("temperature lowered to %g", highest)
			d.field(name, strconv.AppendFloat(nil, highest, 'g', -1, 64))
		default:
			d.field(name, v)
		}
	}
}

// maxStops is how many stop sequences OpenAI takes.
const maxStops = 4

// stops writes the stop sequences: a string or an array of them. At most limit
// fit, 0 for any number.
func (d *draft) stops(v []byte, name, path string, limit int) {
	list := texts(nil)
	switch kind(v) {
	case "absent":
		return
	case "string":
		list = list.with(v)
	case "array":
		w := walk.New(v)
		w.Enter()
		for i := 0; w.Element(); i++ {
			s := w.Value()
			if !walk.IsString(s) {
				d.block(fmt.Sprintf("%s[%d]=%s", path, i, kind(s)))
				return
			}
			n := len(list)
			if list = list.with(s); len(list) == n {
				d.warn("%s[%d] dropped: it is blank", path, i)
			}
		}
	default:
		d.block(path + "=" + kind(v))
		return
	}
	if limit > 0 && len(list) > limit {
		d.block(fmt.Sprintf("%s[%d]", path, limit))
		return
	}
	if len(list) == 0 {
		return
	}
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, s...)
	}
	d.field(name, append(b, ']'))
}

// maxIdentifier is how long OpenAI's safety_identifier may be.
const maxIdentifier = 128

// identifier writes an Anthropic user id as OpenAI's safety_identifier. A longer
// one is hashed: the same user keeps one identifier.
func (d *draft) identifier(id []byte) {
	if id == nil {
		return
	}
	if !walk.IsString(id) {
		d.block("metadata.user_id=" + kind(id))
		return
	}
	if raw := walk.Bytes(id); len(raw) > maxIdentifier {
		sum := sha256.Sum256(raw)
		id = quote.Append(nil, hex.EncodeToString(sum[:]))
		d.warn("metadata.user_id hashed: it is longer than %d bytes", maxIdentifier)
	}
	d.field("safety_identifier", id)
}
