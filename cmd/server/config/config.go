// Package config reads the configuration file and knows what to serve without one.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/spillway-llm/spillway/core"
)

// DefaultFile is read when it exists and no other file was named.
const DefaultFile = "spillway.yaml"

// Config is a checked configuration. A field that is empty was not given: flags
// win over the file, and the file over the defaults.
type Config struct {
	// Listen is the gateway's address.
	Listen string
	// Data is the folder of the database.
	Data     string
	Console  Console
	Timeouts Timeouts
	// Providers and Targets are empty together when the file names none: the
	// environment's keys or the simulated vendors are then served.
	Providers []core.Provider
	Targets   []core.Target
	// Warnings are findings that do not keep the configuration from being used.
	Warnings Problems
}

// Console is where the console listens and under which names it is reached.
type Console struct {
	// Listen is the console's own address; "" shares the gateway's listener.
	Listen string
	// Hosts are further host names, beside loopback's, that a browser may use.
	Hosts []string
}

// Timeouts are the time limits that belong to the machine. The others, to first
// content, between pieces of content and for the whole request, are policy.
type Timeouts struct {
	// Connect bounds making a connection to a vendor, and then the TLS handshake.
	Connect time.Duration
	// Write bounds one write to a caller, who then counts as gone.
	Write time.Duration
}

// LookupFunc finds an environment variable, as [os.LookupEnv] does.
type LookupFunc func(name string) (value string, set bool)

// Load reads and checks a file. Its error is of type [Problems] when the file
// was read and can't be used.
func Load(file string, env LookupFunc) (*Config, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(file, src, env)
}

// Parse checks the text of a configuration file. It reports every finding at
// once, as [Problems], and a value from the environment is never part of one.
func Parse(file string, src []byte, env LookupFunc) (*Config, error) {
	in := &reader{file: file, fromEnv: map[*yaml.Node]bool{}, profiles: map[string]core.Profile{}}
	root, err := document(file, src)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	if root == nil {
		return c, nil
	}
	top := value{node: root, in: in}
	in.expand(top, env)
	if len(in.problems) == 0 {
		if err := in.loadPresets(top); err != nil {
			return nil, err
		}
		in.readConfig(top, c)
	}
	if len(in.problems) > 0 {
		in.problems.sort()
		return nil, in.problems
	}
	c.Warnings = in.warnings
	return c, nil
}

// document parses the one YAML document of a file; nil stands for an empty file.
func document(file string, src []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, Problems{syntaxProblem(file, err)}
	}
	if err := dec.Decode(&second); err == nil {
		return nil, Problems{{
			File: file, Line: second.Line, Column: second.Column,
			Text: "a second document", Hint: "keep one document in the file: only the first would be used",
		}}
	} else if !errors.Is(err, io.EOF) {
		return nil, Problems{syntaxProblem(file, err)}
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	return root, nil
}

// syntaxProblem takes the line out of the YAML parser's words, which carry it
// nowhere else.
func syntaxProblem(file string, err error) Problem {
	p := Problem{File: file, Line: 1, Column: 1, Hint: "mend the YAML"}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		p.Line = line
		_, text, _ = strings.Cut(text, ": ")
	}
	p.Text = "not YAML: " + text
	return p
}

func (in *reader) readConfig(top value, c *Config) {
	seen := top.object(fields{
		"listen":    func(v value) { c.Listen = v.address() },
		"data":      func(v value) { c.Data = v.text() },
		"console":   func(v value) { c.Console = readConsole(v) },
		"presets":   func(value) {}, // read before all that refers to them
		"timeouts":  func(v value) { c.Timeouts = readTimeouts(v) },
		"providers": func(v value) { c.Providers = readProviders(v) },
		"targets":   func(v value) { c.Targets = readTargets(v) },
	})
	providers, targets := seen["providers"], seen["targets"]
	switch {
	case providers.node == nil && targets.node != nil:
		targets.refuse("add providers, or leave targets out to serve what the environment's keys allow",
			"targets without providers")
	case providers.node != nil && targets.node == nil:
		providers.refuse("add targets: a provider alone serves nothing", "providers without targets")
	case len(c.Providers) > 0:
		in.checkReferences(c, targets)
	}
}

// checkReferences holds targets against the providers that they name.
func (in *reader) checkReferences(c *Config, targets value) {
	byID := make(map[string]*core.Provider, len(c.Providers))
	ids := make([]string, 0, len(c.Providers))
	for i := range c.Providers {
		byID[c.Providers[i].ID] = &c.Providers[i]
		ids = append(ids, c.Providers[i].ID)
	}
	for i := range c.Targets {
		t := &c.Targets[i]
		v := targets.item(i)
		if profile, ok := in.profiles[t.Provider]; ok && !hasField(v, "profile") {
			t.Profile = profile
		}
		p, ok := byID[t.Provider]
		if !ok {
			if at, given := v.field("provider"); given && t.Provider != "" {
				at.refuse(suggest(t.Provider, ids, "configured: "), "provider %s is not configured", at.show())
			}
			continue
		}
		if at, given := v.field("profile"); given && p.Wire != core.WireOpenAI {
			at.refuse("leave it out", "profiles are for targets at providers that speak openai")
		}
		if price, given := v.field("price"); given && p.Wire == core.WireAnthropic {
			checkHourPrice(price)
		}
	}
}

func hasField(v value, name string) bool {
	_, ok := v.field(name)
	return ok
}

func readConsole(v value) Console {
	var c Console
	v.object(fields{
		"listen": func(v value) { c.Listen = v.address() },
		"hosts": func(v value) {
			v.list(func(v value) { c.Hosts = append(c.Hosts, v.host()) })
		},
	})
	return c
}

func readTimeouts(v value) Timeouts {
	var t Timeouts
	v.object(fields{
		"connect": func(v value) { t.Connect = v.duration(10*time.Millisecond, time.Minute) },
		"write":   func(v value) { t.Write = v.duration(100*time.Millisecond, 10*time.Minute) },
	})
	return t
}

// address reads host:port to listen on.
func (v value) address() string {
	s := v.text()
	if s == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil || port == "" {
		v.refuse(`write host:port, for example "127.0.0.1:8080"`, "%s is no address to listen on", v.show())
		return ""
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		v.warn("put TLS in front of it, or listen on 127.0.0.1", "listens beyond this machine, without TLS")
	}
	return s
}

// host reads a bare host name.
func (v value) host() string {
	s := v.text()
	if strings.ContainsAny(s, "/:*@ ") {
		v.refuse(`write the name alone, for example "spillway.example.com"`, "%s is no host name", v.show())
		return ""
	}
	return strings.ToLower(s)
}
