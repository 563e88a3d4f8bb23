// Package preset holds what is known of servers and models as data that operators can replace.
package preset

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/core"
)

//go:embed profiles.json
var profilesFile []byte

//go:embed models.json
var modelsFile []byte

// Model is what is known of the models whose names match.
type Model struct {
	// Match are names, in which * stands for any letters. The first model of a
	// library that matches counts.
	Match []string `json:"match"`
	// ContextTokens and MaxOutput are 0 where they are not known.
	ContextTokens int `json:"context_tokens"`
	MaxOutput     int `json:"max_output_tokens"`
	// Capabilities are the names of what the model can do.
	Capabilities []string    `json:"capabilities"`
	Traits       core.Traits `json:"traits"`
	// Note says where the knowledge is thin.
	Note string `json:"note"`
}

// Can returns the capabilities as the catalog has them.
func (m *Model) Can() core.Capabilities {
	has := func(name string) bool { return slices.Contains(m.Capabilities, name) }
	return core.Capabilities{
		Tools: has("tools"), Images: has("images"), Documents: has("documents"),
		JSONSchema: has("json_schema"), Thinking: has("thinking"), Prefill: has("prefill"),
	}
}

// CapabilityNames returns the names that capabilities have in data.
func CapabilityNames() []string {
	return []string{"tools", "images", "documents", "json_schema", "thinking", "prefill"}
}

// Library is a set of profiles and models. Its zero value is empty. It is
// immutable and safe for concurrent use.
type Library struct {
	profiles map[string]core.Profile
	models   []Model
}

// Shipped returns what this version knows. An error is a fault of the build.
func Shipped() (*Library, error) {
	l, err := (&Library{}).Extend(profilesFile)
	if err != nil {
		return nil, err
	}
	return l.Extend(modelsFile)
}

// ErrData marks a file that can't be used.
var ErrData = errors.New("unusable presets")

// profile is a profile as files have it.
type profile struct {
	core.Profile
	Note string `json:"note"`
}

// Extend returns a library with what the JSON document adds: its profiles
// replace those of the same name, its models are looked at before all others.
// The library stays as it is. The document may have profiles, models or both,
// and one date that holds for what has none of its own.
func (l *Library) Extend(doc []byte) (*Library, error) {
	var f struct {
		AsOf     string             `json:"as_of"`
		Profiles map[string]profile `json:"profiles"`
		Models   []Model            `json:"models"`
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("read presets: %w: %w", ErrData, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read presets: more than one document: %w", ErrData)
	}
	if err := checkDate(f.AsOf); err != nil {
		return nil, err
	}
	out := &Library{profiles: maps.Clone(l.profiles)}
	if out.profiles == nil {
		out.profiles = map[string]core.Profile{}
	}
	for name, p := range f.Profiles {
		p.Name, p.AsOf = name, orElse(p.AsOf, f.AsOf)
		if err := checkProfile(&p.Profile); err != nil {
			return nil, fmt.Errorf("profile %q: %w", name, err)
		}
		out.profiles[name] = p.Profile
	}
	for i := range f.Models {
		m := &f.Models[i]
		m.Traits.AsOf = orElse(m.Traits.AsOf, f.AsOf)
		if err := checkModel(m); err != nil {
			return nil, fmt.Errorf("model %d %q: %w", i, m.Match, err)
		}
	}
	out.models = append(f.Models, l.models...)
	return out, nil
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func checkDate(s string) error {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return fmt.Errorf("read presets: as_of %q is no day like 2026-11-29: %w", s, ErrData)
	}
	return nil
}

// Profile returns a preset by name.
func (l *Library) Profile(name string) (core.Profile, bool) {
	p, ok := l.profiles[name]
	return p, ok
}

// Profiles returns the names of the presets, sorted.
func (l *Library) Profiles() []string { return slices.Sorted(maps.Keys(l.profiles)) }

// Model returns what is known of a model, by the name that its vendor gives it.
func (l *Library) Model(name string) (Model, bool) {
	for _, m := range l.models {
		for _, pattern := range m.Match {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return m, true
			}
		}
	}
	return Model{}, false
}
