// Package guard refuses what a foreign web page could send to a local server.
package guard

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Local passes on only requests that name this server by a loopback name or one
// of hosts, and that no other site's page sent. The Host is checked because a
// page can rebind its own name to a local address, and is then same-origin.
func Local(hosts []string, next http.Handler) http.Handler {
	var origins http.CrossOriginProtection
	next = origins.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !known(r.Host, hosts) {
			http.Error(w, "this host name is not allowed here: add it to console.hosts in the configuration", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// known reports whether a Host header names loopback or one of the hosts.
func known(header string, hosts []string) bool {
	name := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if name == "localhost" || slices.Contains(hosts, name) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}
