package simulate

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// ErrScenario marks a scenario that can't be used.
var ErrScenario = errors.New("unusable scenario")

// mostBytes bounds a document before it is understood. Its depth is bounded by
// the type's, which is not recursive.
const mostBytes = 1 << 20

// Parse reads a scenario and checks it. An error wraps [ErrScenario] and names
// the place by its path, for example phases[1].failures.overload.
func Parse(text []byte) (*Scenario, error) {
	if len(text) > mostBytes {
		return nil, fmt.Errorf("read scenario: %d bytes, at most %d are read: %w", len(text), mostBytes, ErrScenario)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := checkValue(dec, reflect.TypeFor[Scenario](), ""); err != nil {
		return nil, fmt.Errorf("read scenario: %w: %w", err, ErrScenario)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read scenario: something follows the object: %w", ErrScenario)
	}
	var s Scenario
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read scenario: %w: %w", err, ErrScenario)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("scenario %q: %w: %w", s.Name, err, ErrScenario)
	}
	return &s, nil
}

// checkValue reads one value and holds it against the type that it is for,
// because encoding/json says neither where an unknown field stands nor that a
// field stands twice, and takes null for anything.
func checkValue(dec *json.Decoder, t reflect.Type, path string) error {
	token, err := dec.Token()
	if err != nil {
		return fmt.Errorf("%snot JSON: %w", at(path), err)
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token {
	case json.Delim('{'):
		return checkObject(dec, t, path)
	case json.Delim('['):
		return checkList(dec, t, path)
	}
	if why := refused(token, t); why != "" {
		return fmt.Errorf("%s%s", at(path), why)
	}
	return nil
}

func at(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

// refused says why a plain value does not fit a type, "" if it does.
func refused(token json.Token, t reflect.Type) string {
	want := "an object"
	fits := false
	switch t.Kind() {
	case reflect.String:
		want = "a text"
		_, fits = token.(string)
	case reflect.Bool:
		want = "true or false"
		_, fits = token.(bool)
	case reflect.Slice:
		want = "a list"
	case reflect.Float64:
		want = "a number"
		n, ok := token.(json.Number)
		_, err := n.Float64()
		fits = ok && err == nil
	case reflect.Int, reflect.Uint64:
		want = "a whole number"
		n, ok := token.(json.Number)
		fits = ok && json.Unmarshal([]byte(n), reflect.New(t).Interface()) == nil
	case reflect.Uint8: // core.Kind
		return refusedWord(token, t)
	}
	if fits {
		return ""
	}
	return "must be " + want
}

func refusedWord(token json.Token, t reflect.Type) string {
	word, ok := token.(string)
	if !ok {
		return "must be a text"
	}
	if err := reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(word)); err != nil {
		return err.Error()
	}
	return ""
}

func checkList(dec *json.Decoder, t reflect.Type, path string) error {
	if t.Kind() != reflect.Slice {
		return fmt.Errorf("%s%s", at(path), refused(nil, t))
	}
	for i := 0; dec.More(); i++ {
		if err := checkValue(dec, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return closing(dec, path)
}

func checkObject(dec *json.Decoder, t reflect.Type, path string) error {
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return fmt.Errorf("%s%s", at(path), refused(nil, t))
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return fmt.Errorf("%snot JSON: %w", at(path), err)
		}
		name, _ := token.(string)
		inner := strings.TrimPrefix(path+"."+name, ".")
		if seen[name] {
			return fmt.Errorf("%s: given twice", inner)
		}
		seen[name] = true
		ft, err := fieldType(t, name)
		if err != nil {
			return fmt.Errorf("%s: %w", inner, err)
		}
		if err := checkValue(dec, ft, inner); err != nil {
			return err
		}
	}
	return closing(dec, path)
}

// fieldType is the type of a field, which must be spelt exactly.
func fieldType(t reflect.Type, name string) (reflect.Type, error) {
	if t.Kind() == reflect.Map {
		if why := refusedWord(name, t.Key()); why != "" {
			return nil, errors.New(why)
		}
		return t.Elem(), nil
	}
	var known []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") == name {
			return f.Type, nil
		}
		known = append(known, f.Tag.Get("json"))
	}
	slices.Sort(known)
	return nil, fmt.Errorf("unknown field; known are %s", strings.Join(known, ", "))
}

func closing(dec *json.Decoder, path string) error {
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("%snot JSON: %w", at(path), err)
	}
	return nil
}
