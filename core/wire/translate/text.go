package translate

import (
	"strings"

	"github.com/spillway-llm/spillway/core/wire/quote"
	"github.com/spillway-llm/spillway/core/wire/walk"
)

// part is one part of a content: a text as a JSON string, or another part as the
// target's JSON object.
type part struct {
	text, object []byte
	// marker is the cache marker of an Anthropic text block, nil without one.
	marker []byte
}

// blank reports whether a JSON string holds nothing but white space, which
// Anthropic refuses and which says nothing.
func blank(literal []byte) bool {
	return strings.TrimSpace(string(walk.Bytes(literal))) == ""
}

// appendContent appends a content: a lone text as a string, which every server
// understands, several parts as an array, which keeps them apart.
func appendContent(dst []byte, parts []part) []byte {
	switch {
	case len(parts) == 0:
		return append(dst, `""`...)
	case len(parts) == 1 && parts[0].text != nil && parts[0].marker == nil:
		return append(dst, parts[0].text...)
	}
	return appendParts(dst, parts)
}

// appendParts appends parts as an array.
func appendParts(dst []byte, parts []part) []byte {
	dst = append(dst, '[')
	for i, p := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		if p.text == nil {
			dst = append(dst, p.object...)
			continue
		}
		dst = append(append(dst, `{"type":"text","text":`...), p.text...)
		if p.marker != nil {
			dst = append(append(dst, `,"cache_control":`...), p.marker...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendJoined appends JSON strings as one, with what stands between them
// escaped already.
func appendJoined(dst []byte, literals [][]byte, between string) []byte {
	dst = append(dst, '"')
	for i, literal := range literals {
		if i > 0 {
			dst = append(dst, between...)
		}
		dst = append(dst, literal[1:len(literal)-1]...)
	}
	return append(dst, '"')
}

// openMessage begins a message in an open array, up to its content.
func openMessage(dst []byte, role string) []byte {
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	dst = append(dst, `{"role":`...)
	dst = quote.Append(dst, role)
	return append(dst, `,"content":`...)
}

// toolError is what stands before the text of a tool result that is an error:
// Chat Completions has no field that says so, and the model must still see it.
const toolError = "[tool error]\n"
