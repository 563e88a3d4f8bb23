package config

import (
	"net/netip"
	"net/url"

	"go.yaml.in/yaml/v3"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/health"
)

func readProviders(v value) []core.Provider {
	var out []core.Provider
	ids := unique{}
	v.list(func(v value) {
		p := readProvider(v)
		ids.check(v, "id", p.ID)
		out = append(out, p)
	})
	return out
}

func readProvider(v value) core.Provider {
	var p core.Provider
	var profile core.Profile
	seen := v.object(fields{
		"id":     func(v value) { p.ID = v.id() },
		"wire":   func(v value) { p.Wire = core.Wire(v.oneOf(string(core.WireAnthropic), string(core.WireOpenAI))) },
		"vendor": func(v value) { p.Vendor = v.id() },
		"nodes":  func(v value) { p.Nodes = readNodes(v) },
		"keys":   func(v value) { p.Keys = readKeys(v) },
		"balance": func(v value) {
			if v.oneOf(health.BalanceWeight.String(), health.BalanceLatency.String()) == health.BalanceLatency.String() {
				p.Balance = health.BalanceLatency
			}
		},
		"probes":  func(v value) { p.NoProbes = v.oneOf("on", "off") == "off" },
		"profile": func(v value) { profile = v.profile() },
	})
	_, given := seen["profile"]
	if given {
		v.in.profiles[p.ID] = profile
	}
	if v.node.Kind == yaml.MappingNode && p.Wire != "" {
		v.checkProfile(&p, given)
	}
	v.require(seen, "id", "wire", "nodes", "keys")
	if balance, given := seen["balance"]; given && len(p.Nodes) == 1 {
		balance.refuse("name another node, or leave it out", "there is nothing to balance between: the provider has one node")
	}
	if p.Vendor == "" {
		p.Vendor = p.ID
	}
	return p
}

func readNodes(v value) []core.Node {
	var out []core.Node
	ids := unique{}
	v.list(func(v value) {
		var n core.Node
		seen := v.object(fields{
			"id":     func(v value) { n.ID = v.id() },
			"url":    func(v value) { n.BaseURL = v.baseURL() },
			"region": func(v value) { n.Region = v.id() },
			"weight": func(v value) { n.Weight = v.whole(1, 1000) },
		})
		v.require(seen, "url")
		if n.ID == "" {
			n.ID = nodeID(n.BaseURL)
		}
		ids.check(v, "id", n.ID)
		out = append(out, n)
	})
	return out
}

// nodeID names a node that the file did not name: by its host.
func nodeID(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Host
}

func readKeys(v value) []core.Key {
	var out []core.Key
	ids := unique{}
	v.list(func(v value) {
		var k core.Key
		seen := v.object(fields{
			"id":    func(v value) { k.ID = v.id() },
			"value": func(v value) { k.Secret = v.secret() },
		})
		v.require(seen, "id", "value")
		ids.check(v, "id", k.ID)
		out = append(out, k)
	})
	return out
}

// secret reads a credential, which no finding quotes. A variable that is set
// but empty is no credential: the key stays, unusable, and the operator is told.
func (v value) secret() core.Secret {
	if v.in.fromEnv[v.node] && v.node.Value == "" {
		v.warn("set it to serve this provider's targets", "the environment variable is empty, so this key is out of service")
		return core.Secret{}
	}
	s := v.text()
	if s != "" && !v.in.fromEnv[v.node] {
		v.warn("write ${NAME} and set the variable", "the key stands in the file")
	}
	for _, c := range s {
		if c <= ' ' || c > '~' {
			v.refuse("check what the variable holds", "the key has a blank or a letter that no HTTP header can carry")
			return core.Secret{}
		}
	}
	return core.NewSecret(s)
}

// baseURL reads a node's address. Addresses that only serve a cloud machine's
// own metadata are refused, because a gateway must not be talked into reading them.
func (v value) baseURL() string {
	s := v.text()
	if s == "" {
		return ""
	}
	const hint = `write scheme and host, and a path if there is one, for example "https://api.anthropic.com"`
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		v.refuse(hint, "%s is no http or https URL", v.show())
		return ""
	case u.User != nil:
		v.refuse("put the credential under keys", "a URL with a credential in it")
		return ""
	case u.RawQuery != "" || u.Fragment != "" || u.Port() == "0":
		v.refuse(hint, "%s has a query, a fragment or port 0", v.show())
		return ""
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && reserved(ip.Unmap()) {
		v.refuse("name the vendor's address", "%s is a link-local or metadata address", v.show())
		return ""
	}
	return s
}

func reserved(ip netip.Addr) bool {
	metadata := netip.MustParseAddr("fd00:ec2::254")
	return ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() || ip == metadata
}

// unique finds ids that are used twice among neighbours.
type unique map[string]int

func (u unique) check(v value, field, id string) {
	if id == "" {
		return
	}
	if line, twice := u[id]; twice {
		at := v
		if f, ok := v.field(field); ok {
			at = f
		}
		at.refuse("give each its own id", "%q is used before, at line %d", id, line)
		return
	}
	u[id] = v.node.Line
}
