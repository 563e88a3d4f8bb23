package translate

import (
	"fmt"
	"strings"

	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// texts are the texts of a content, as JSON strings; empty ones are left out,
// because one of the vendors refuses them and they say nothing.
type texts [][]byte

// texts reads a content: a string, or an array of text blocks, which both forms
// write alike.
func (d *draft) texts(content []byte, path string, of func(name string) fate) texts {
	switch kind(content) {
	case "string":
		return texts(nil).with(content)
	case "null", "absent":
		return nil
	case "array":
		return d.blocks(content, path, of)
	}
	d.block(path + "=" + kind(content))
	return nil
}

func (t texts) with(literal []byte) texts {
	if strings.TrimSpace(string(walk.Bytes(literal))) == "" {
		return t
	}
	return append(t, literal)
}

func (d *draft) blocks(content []byte, path string, of func(name string) fate) texts {
	var all texts
	w := walk.New(content)
	w.Enter()
	for i := 0; w.Element() && d.err == nil; i++ {
		at := fmt.Sprintf("%s[%d]", path, i)
		block := w.Value()
		if typ := walk.Get(block, "type"); string(typ) != `"text"` {
			d.block(at + ".type=" + label(walk.Bytes(typ)))
			return nil
		}
		text := d.read(block, at+".", of)["text"]
		if !walk.IsString(text) {
			d.block(at + ".text=" + kind(text))
			return nil
		}
		all = all.with(text)
	}
	return all
}

// appendContent appends a content: a lone text as a string, which every server
// understands, several as blocks, which keeps them apart.
func appendContent(dst []byte, t texts) []byte {
	switch len(t) {
	case 0:
		return append(dst, `""`...)
	case 1:
		return append(dst, t[0]...)
	}
	dst = append(dst, '[')
	for i, literal := range t {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"text","text":`...)
		dst = append(dst, literal...)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendJoined appends the texts as one JSON string.
func appendJoined(dst []byte, t texts) []byte {
	dst = append(dst, '"')
	for _, literal := range t {
		dst = append(dst, literal[1:len(literal)-1]...)
	}
	return append(dst, '"')
}

// appendMessage appends a message to an open array.
func appendMessage(dst []byte, role string, t texts) []byte {
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	dst = append(dst, `{"role":`...)
	dst = quote.Append(dst, role)
	dst = append(dst, `,"content":`...)
	return append(appendContent(dst, t), '}')
}
