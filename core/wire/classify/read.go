package classify

import "github.com/spillway-llm/spillway/core/wire/walk"

// Read finds the signs in an error answer's body. It takes the shapes that
// vendors and the servers compatible with them send: an error object, an error
// that is a text, the object's fields at the top, and a detail text. Any other
// body has no signs.
func Read(body []byte) Signs {
	object := walk.Get(body, "error")
	switch {
	case walk.IsString(object):
		return Signs{Message: clean(walk.Bytes(object)), Type: text(body, "type"), Code: code(body)}
	case len(object) == 0 || object[0] != '{':
		object = body
	}
	s := Signs{Type: text(object, "type"), Code: text(object, "details", "error_code")}
	if s.Code == "" {
		s.Code = code(object)
	}
	for _, name := range []string{"message", "detail"} {
		if v := walk.Get(object, name); walk.IsString(v) {
			s.Message = clean(walk.Bytes(v))
			break
		}
	}
	return s
}

func text(doc []byte, path ...string) string {
	v := walk.Get(doc, path...)
	if !walk.IsString(v) {
		return ""
	}
	return word(walk.Bytes(v))
}

// code reads a code, which some servers send as a number.
func code(doc []byte) string {
	v := walk.Get(doc, "code")
	if _, ok := walk.Int(v); ok {
		return word(v)
	}
	return text(doc, "code")
}
