package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Files are a revision's files by slash-separated path: Rego modules, tests
// (*_test.rego), and data files (config/…/data.json), whose folder is their
// place below data, as for the opa command.
type Files map[string]string

// The size limits: more than enough for policies, and little enough that
// parsing can't be made to hurt.
const (
	maxFileBytes     = 64 << 10
	maxRevisionBytes = 256 << 10
)

// Digest returns the id of a revision with these files: the hex SHA-256 over
// paths and contents, in the order of the paths.
func Digest(files Files) string {
	h := sha256.New()
	var size [8]byte
	part := func(s string) {
		binary.BigEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		io.WriteString(h, s)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		part(name)
		part(files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// source is a parsed set of files.
type source struct {
	files   Files
	modules map[string]*ast.Module // what acts
	tests   map[string]*ast.Module // *_test.rego
	data    map[string]any         // below data; only "config" in it
}

// parse reads the files and holds them to the size limits.
func parse(files Files) (*source, Problems) {
	s := &source{files: files, modules: map[string]*ast.Module{}, tests: map[string]*ast.Module{}, data: map[string]any{}}
	var ps Problems
	total := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		total += len(files[name])
		switch {
		case len(files[name]) > maxFileBytes:
			ps = append(ps, problemIn(name, CodeSize, "the file has %d bytes; at most %d are read", len(files[name]), maxFileBytes))
		case total > maxRevisionBytes:
			ps = append(ps, problemIn(name, CodeSize, "with this file the revision has %d bytes; at most %d are read", total, maxRevisionBytes))
		default:
			ps = append(ps, s.add(name, files[name])...)
		}
	}
	return s, ps
}

func (s *source) add(name, text string) Problems {
	if path.Clean(name) != name || path.IsAbs(name) || strings.HasPrefix(name, "..") || strings.Contains(name, `\`) {
		return Problems{problemIn(name, CodeFile, "not a plain relative path")}
	}
	switch {
	case strings.HasSuffix(name, ".rego"):
		return s.addModule(name, text)
	case path.Base(name) == "data.json" && strings.HasPrefix(name, "config/"):
		return s.addData(name, text)
	}
	return Problems{problemIn(name, CodeFile, "neither a module (*.rego) nor a data file (config/…/data.json)")}
}

func (s *source) addModule(name, text string) Problems {
	m, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{
		RegoVersion: ast.RegoV1, ProcessAnnotation: true, Capabilities: capabilities(),
	})
	if err != nil {
		return compilerProblems(name, err)
	}
	if m == nil {
		return Problems{problemIn(name, CodeFile, "the file is empty")}
	}
	if strings.HasSuffix(name, "_test.rego") {
		s.tests[name] = m
	} else {
		s.modules[name] = m
	}
	return nil
}

func (s *source) addData(name, text string) Problems {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var doc map[string]any
	if err := dec.Decode(&doc); err != nil {
		return Problems{jsonProblem(name, text, dec, err)}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Problems{jsonProblem(name, text, dec, errors.New("something follows the object"))}
	}
	at := s.data
	for _, folder := range strings.Split(path.Dir(name), "/") {
		next, ok := at[folder].(map[string]any)
		if !ok {
			if _, taken := at[folder]; taken {
				return Problems{problemIn(name, CodeFile, "%q is already a value of another data file", folder)}
			}
			next = map[string]any{}
			at[folder] = next
		}
		at = next
	}
	for key, value := range doc {
		if _, taken := at[key]; taken {
			return Problems{problemAt(locate(name, text, `"`+key+`"`), CodeFile, "%q is already given by another data file", key)}
		}
		at[key] = value
	}
	return nil
}

func jsonProblem(name, text string, dec *json.Decoder, err error) Problem {
	offset := dec.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = syntax.Offset
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		offset = int64(len(text))
	}
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		return problemAt(place(name, text, 0), CodeFile, "a data file must be a JSON object, not %s", typed.Value)
	}
	return problemAt(place(name, text, int(offset)-1), CodeFile, "not JSON: %v", err)
}

// place converts a byte offset to a location.
func place(name, text string, offset int) *ast.Location {
	before := text[:min(max(offset, 0), len(text))]
	row := strings.Count(before, "\n")
	return &ast.Location{File: name, Row: row + 1, Col: len(before) - strings.LastIndexByte(before, '\n')}
}

// locate finds the first occurrence of a word, or the file's start.
func locate(name, text, word string) *ast.Location {
	return place(name, text, strings.Index(text, word))
}
