package console

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
)

// contentPolicy lets pages run and show only what this server sends as a file:
// no inline script or style, no frame around them, no form to elsewhere.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxBody bounds a form: a revision's files are at most 256 KB, and percent
// encoding can triple them.
const maxBody = 1 << 20

type contextKey int

const (
	requestIDKey contextKey = iota
	sessionKey
)

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey).(string)
	return id
}

// guard is what stands before every page, outermost first.
func (c *Console) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := c.page(r, "")
		c.fail(w, r, p, &failure{
			Status: http.StatusForbidden, What: p.T("fail.cross_origin"),
			NotDone: p.T("fail.nothing_changed"), Do: p.T("fail.cross_origin.do"),
		})
	}))
	return c.identify(c.contain(c.allowHost(secureHeaders(limitBody(cross.Handler(next))))))
}

// identify gives the request an id, which every error names.
func (c *Console) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()[:12]
		w.Header().Set("X-Request-Id", id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey, id)))
	})
}

// contain keeps a panic in a page from taking proxied requests with it, and
// says so instead of cutting the connection.
func (c *Console) contain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			err := fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			c.fail(w, r, c.page(r, ""), err)
		}()
		next.ServeHTTP(w, r)
	})
}

// allowHost refuses names that are not this server's: a foreign page that
// rebinds its own name to this address would pass every origin check.
func (c *Console) allowHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hostAllowed(r.Host, c.cfg.Hosts) {
			http.Error(w, "This server is not known by the name "+quoteHost(r.Host)+
				". Open it by a loopback name, or add the name to the console's hosts in the configuration.",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func quoteHost(host string) string { return fmt.Sprintf("%.100q", host) }

// hostAllowed accepts loopback names with any port, and configured ones. A
// configured name without a port stands for every port.
func hostAllowed(host string, hosts []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" {
		return true
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	for _, h := range hosts {
		if strings.EqualFold(h, host) || strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}

func secureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}
