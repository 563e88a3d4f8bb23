package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spillway-llm/spillway/bench/mock"
	"github.com/spillway-llm/spillway/bench/proxy"
)

// children are the programs that bench starts as processes of their own, so
// that each one's processor time can be told apart.
func children() map[string]func([]string) error {
	return map[string]func([]string) error{"mock": serveMock, "proxy": serveProxy}
}

func serveMock(args []string) error {
	f := flag.NewFlagSet("bench mock", flag.ContinueOnError)
	addr := f.String("addr", "127.0.0.1:0", "`address` to listen on")
	if err := f.Parse(args); err != nil {
		return err
	}
	return listen(*addr, mock.New())
}

func serveProxy(args []string) error {
	f := flag.NewFlagSet("bench proxy", flag.ContinueOnError)
	addr := f.String("addr", "127.0.0.1:0", "`address` to listen on")
	upstream := f.String("upstream", "", "base `URL` of the vendor")
	pooled := f.Bool("pool", false, "reuse copy buffers")
	if err := f.Parse(args); err != nil {
		return err
	}
	u, err := url.Parse(*upstream)
	if err != nil || u.Host == "" {
		return fmt.Errorf("upstream %q is no URL with a host", *upstream)
	}
	return listen(*addr, proxy.New(u, *pooled))
}

// listen serves until the process is ended. Its first line says where.
func listen(addr string, h http.Handler) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Println(ln.Addr())
	s := &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second}
	return fmt.Errorf("serve: %w", s.Serve(ln))
}
