package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/cmd/server/config"
	"github.com/spillway-llm/spillway/cmd/server/guard"
	"github.com/spillway-llm/spillway/cmd/server/simulated"
	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/gateway"
	"github.com/spillway-llm/spillway/store"
)

// databaseName is the database in the data folder.
const databaseName = "spillway.db"

// Server is the whole program: the gateway and the console over one engine and
// one database. Make one with New, then Run it; Close it if it is not run.
type Server struct {
	o     Options
	log   *slog.Logger
	cfg   *config.Config
	ready Ready

	reloading sync.Mutex // guards cfg after New

	db        *store.DB
	vendors   *simulated.Vendors // nil with real vendors
	rules     *rules
	operators *operators
	gateway   *gateway.Gateway
	console   *console.Console

	listeners []listening
	// closers undo what New did, last first.
	closers []func() error
}

// listening is one address and what it serves.
type listening struct {
	net.Listener
	server *http.Server
}

// New reads the configuration, opens the database, and listens. The server
// answers once it runs. On an error nothing is left open.
func New(ctx context.Context, o Options) (*Server, error) {
	o = o.withDefaults()
	s := &Server{o: o, log: o.Log}
	for _, step := range []func(context.Context) error{
		s.configure, s.openStore, s.openVendors, s.openEngine, s.openConsole, s.openGateway, s.listen,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Ready returns addresses and first credentials.
func (s *Server) Ready() Ready { return s.ready }

func (s *Server) onClose(f func() error) { s.closers = append(s.closers, f) }

// Close ends what New began, at once. After Run it does nothing more.
func (s *Server) Close() error {
	var errs []error
	for _, f := range slices.Backward(s.closers) {
		errs = append(errs, f())
	}
	s.closers = nil
	return errors.Join(errs...)
}

func (s *Server) configure(context.Context) error {
	c, _, err := s.o.load()
	if err != nil {
		return err
	}
	s.cfg = c
	s.warn(c)
	return nil
}

func (s *Server) openStore(ctx context.Context) error {
	if err := os.MkdirAll(s.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	db, err := store.Open(ctx, store.Config{
		Path: filepath.Join(s.cfg.Data, databaseName), Version: version(), Logger: s.log,
	})
	if errors.Is(err, store.ErrInUse) {
		return fmt.Errorf("another server runs over %s; give this one its own --data: %w", s.cfg.Data, err)
	}
	if err != nil {
		return err
	}
	s.db = db
	s.onClose(db.Close)
	s.operators, err = newOperators(ctx, db)
	return err
}

// openVendors starts the simulated vendors when nothing names a real one.
func (s *Server) openVendors(context.Context) error {
	worker, err := newWorker(s.o.Worker)
	if err != nil {
		return err
	}
	s.onClose(worker.Close)
	s.rules = newRules(s.db, worker, s.cfg.Timeouts.Connect, s.log)
	s.onClose(s.rules.close)
	if len(s.cfg.Providers) > 0 {
		return nil
	}
	vendors, err := simulated.Start(s.rules.recorders, time.Now)
	if err != nil {
		return err
	}
	s.vendors = vendors
	s.rules.callers.simulated = true
	s.onClose(vendors.Close)
	s.cfg.Providers, s.cfg.Targets = config.Simulated(vendors.URL(core.WireAnthropic), vendors.URL(core.WireOpenAI))
	return nil
}

func (s *Server) openEngine(ctx context.Context) error {
	catalog, err := core.NewCatalog(s.cfg.Providers, s.cfg.Targets)
	if err != nil {
		return err
	}
	if err := s.rules.open(ctx, catalog); err != nil {
		return err
	}
	s.ready.Simulated, s.ready.PID = s.vendors != nil, os.Getpid()
	s.ready.Password = s.operators.password()
	s.ready.Key, err = s.firstKey(ctx)
	return err
}

// firstKey is a caller's key of the admin audience: the well-known one with
// simulated vendors, a new one at the first start with real ones, else "".
func (s *Server) firstKey(ctx context.Context) (string, error) {
	if s.vendors != nil {
		return simulatedAdminKey, nil
	}
	list, err := s.rules.callers.list(ctx)
	if err != nil || len(list) > 0 {
		return "", err
	}
	made, err := s.rules.callers.add(ctx, keyOrder{Name: "admin", Plan: "admin", Tenant: "default"})
	return made.Key, err
}

func (s *Server) openConsole(context.Context) error {
	a := archive{s.db}
	c := console.Config{
		Live: s.rules.engine, History: a, Revisions: a, Drafts: a, Sessions: a, Activator: s.rules, Holds: holds{s.rules.engine}, Operators: s.operators,
		Version: version(), Hosts: s.cfg.Console.Hosts, Log: s.log, Reloader: s,
	}
	if s.vendors != nil {
		c.Name, c.Vendors, c.ExampleKey = "simulated", s.vendors, simulatedAdminKey
	}
	var err error
	s.ready.Gateway, err = s.bind(s.cfg.Listen)
	if err != nil {
		return err
	}
	s.ready.Console = s.ready.Gateway
	if s.cfg.Console.Listen != "" {
		if s.ready.Console, err = s.bind(s.cfg.Console.Listen); err != nil {
			return err
		}
	}
	c.GatewayURL = s.ready.Gateway
	s.console, err = console.New(c)
	if err != nil {
		return err
	}
	s.onClose(func() error { s.console.Close(); return nil })
	s.rules.tell(s.console)
	return nil
}

// bind opens a listener and returns its base URL. Nothing is accepted before Run.
func (s *Server) bind(address string) (string, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("%w; --listen and --console choose other addresses", err)
	}
	s.listeners = append(s.listeners, listening{Listener: l})
	s.onClose(func() error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // a URL that works on this machine
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

func (s *Server) openGateway(context.Context) error {
	g, err := gateway.New(gateway.Config{
		Engine: s.rules.engine, Access: s.rules.callers.table, Upstream: s.rules.upstream, Clock: s.rules.clock,
		Simulated: s.vendors != nil, WriteTimeout: s.cfg.Timeouts.Write,
	})
	s.gateway = g
	return err
}

// listen decides what each listener serves.
func (s *Server) listen(context.Context) error {
	admin, err := listenAdmin(s.cfg.Data)
	if err != nil {
		s.log.Warn("commands such as `server keys` need this server stopped", "err", err)
	} else {
		s.listeners = append(s.listeners, listening{Listener: admin})
		s.onClose(func() error { _ = admin.Close(); return nil }) // closed by its server, as a rule
	}
	handlers := []http.Handler{s.front(s.cfg.Console.Listen == "")}
	if s.cfg.Console.Listen != "" {
		handlers = append(handlers, s.consoleOnly())
	}
	handlers = append(handlers, adminHandler(s.rules.callers, engineDesk{s.rules.engine}, s.rules.engine))
	for i := range s.listeners {
		s.listeners[i].server = &http.Server{
			Handler: handlers[i], ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
			ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		}
	}
	return nil
}

// front serves the gateway, and beside it what people need: the console unless
// it has an address of its own, and the fault switch of simulated vendors.
func (s *Server) front(withConsole bool) http.Handler {
	var switches http.Handler
	if s.vendors != nil {
		mux := http.NewServeMux()
		mux.HandleFunc(simulated.FaultPattern, s.vendors.ServeFault)
		switches = guard.Local(s.cfg.Console.Hosts, mux)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		switch {
		case withConsole && (strings.HasPrefix(path, "/console/") || path == "/console" || path == "/" && wantsPage(r)):
			s.serveConsole(w, r)
		case switches != nil && strings.HasPrefix(path, "/sim/"):
			switches.ServeHTTP(w, r)
		default:
			s.gateway.ServeHTTP(w, r)
		}
	})
}

func (s *Server) consoleOnly() http.Handler { return http.HandlerFunc(s.serveConsole) }

// serveConsole leads people to the console from the addresses that they try.
func (s *Server) serveConsole(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" || r.URL.Path == "/console" {
		http.Redirect(w, r, "/console/", http.StatusSeeOther)
		return
	}
	s.console.ServeHTTP(w, r)
}

// wantsPage tells a browser from a client of the gateway.
func wantsPage(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// Run serves until ctx ends, then drains: requests that run may finish, for as
// long as Options.Drain says. It closes the server.
func (s *Server) Run(ctx context.Context) error {
	if !s.o.NoBackground {
		s.rules.engine.Start()
	}
	failed := make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		go func() { failed <- l.server.Serve(l.Listener) }()
	}
	if s.o.ReadyFile != "" {
		if err := s.ready.write(s.o.ReadyFile); err != nil {
			return errors.Join(err, s.drain(), s.Close())
		}
	}
	s.log.Info("serving", "gateway", s.ready.Gateway, "console", s.ready.Console+"/console/", "simulated", s.ready.Simulated,
		"version", cmp.Or(version(), "unknown"))
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
	}
	return errors.Join(err, s.drain(), s.Close())
}

// drain lets running requests finish. The console's sockets end first: they
// would never finish by themselves.
func (s *Server) drain() error {
	s.gateway.Drain()
	s.console.Close()
	s.log.Info("draining", "at_most", s.o.Drain)
	ctx, cancel := context.WithTimeout(context.Background(), s.o.Drain)
	defer cancel()
	done := make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		go func() { done <- l.server.Shutdown(ctx) }()
	}
	late := false
	for range s.listeners {
		late = <-done != nil || late
	}
	if !late {
		return nil
	}
	s.log.Warn("requests were cut: they ran longer than the drain", "drain", s.o.Drain)
	var errs []error
	for _, l := range s.listeners {
		errs = append(errs, l.server.Close())
	}
	return errors.Join(errs...)
}
