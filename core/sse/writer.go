package sse

import "bytes"

// AppendEvent appends one event: the name unless it is empty, one data line for
// each line of data, and the blank line. A name ends at its first line break,
// because the rest would be read as a field of its own.
func AppendEvent(dst, name, data []byte) []byte {
	if i := bytes.IndexAny(name, "\r\n"); i >= 0 {
		name = name[:i]
	}
	if len(name) > 0 {
		dst = append(dst, "event: "...)
		dst = append(dst, name...)
		dst = append(dst, '\n')
	}
	dst = appendLines(dst, "data: ", data)
	return append(dst, '\n')
}

// AppendComment appends a comment, which no client takes for content, and a
// blank line.
func AppendComment(dst []byte, text string) []byte {
	dst = appendLines(dst, ": ", []byte(text))
	return append(dst, '\n')
}

// appendLines writes every line of text behind the prefix, whatever ends it: a
// bare CR is a line end to a reader as well.
func appendLines(dst []byte, prefix string, text []byte) []byte {
	for {
		dst = append(dst, prefix...)
		i := bytes.IndexByte(text, '\n')
		if j := bytes.IndexByte(text, '\r'); j >= 0 && (i < 0 || j < i) {
			i = j
		}
		if i < 0 {
			dst = append(dst, text...)
			return append(dst, '\n')
		}
		dst = append(dst, text[:i]...)
		dst = append(dst, '\n')
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		text = text[i+1:]
	}
}
