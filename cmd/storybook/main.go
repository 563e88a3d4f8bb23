// Command storybook serves the console from fixed data, so that its pages can be
// looked at without an engine or a database.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/console/storybook"
	"github.com/spillway-llm/spillway/core"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:8090", "address to serve on")
	signedIn := flag.Bool("signed-in", true, "open the pages without a sign-in")
	healthy := flag.Bool("healthy", false, "show a healthy system without any request so far")
	flag.Parse()
	if err := serve(*addr, *signedIn, *healthy); err != nil {
		fmt.Fprintln(os.Stderr, "storybook:", err)
		os.Exit(1)
	}
}

func serve(addr string, signedIn, healthy bool) error {
	book := storybook.New()
	if healthy {
		book.Show(storybook.Healthy(book.Rev))
	}
	c, err := console.New(book.Config())
	if err != nil {
		return err
	}
	defer c.Close()
	if !healthy {
		c.Record(&core.Decision{At: storybook.Now(), Target: "gpt-6-sol", Plan: &core.Plan{Preferred: "claude-opus-5-5"}})
	}
	var h http.Handler = c
	if signedIn {
		h = withCookie(c, book.SignedIn(false))
	}
	fmt.Printf("http://%s/console/  (name %s, password %s)\n", addr, storybook.Operator, storybook.OneTime)
	s := &http.Server{Addr: addr, Handler: h, ReadHeaderTimeout: 5 * time.Second}
	return s.ListenAndServe()
}

// withCookie signs every request in that brings no session of its own.
func withCookie(next http.Handler, token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("sid"); err != nil {
			r.AddCookie(&http.Cookie{Name: "sid", Value: token})
		}
		next.ServeHTTP(w, r)
	})
}
