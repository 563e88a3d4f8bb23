package console

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Config is what a console needs. Live, History, Revisions, Drafts, Activator,
// Holds, Operators and Sessions are required.
type Config struct {
	Live      Live
	History   History
	Revisions Revisions
	Drafts    Drafts
	Activator Activator
	Holds     Holds
	Operators Operators
	Sessions  Sessions
	// Vendors are the simulated vendors; nil when there are none.
	Vendors Vendors
	// Reloader reloads the configuration; nil hides the button.
	Reloader Reloader

	// Name is shown as the environment's name; "" shows "spillway".
	Name string
	// Version is the program's version, for the footer.
	Version string
	// GatewayURL is the address in the first-run hint, for example "http://127.0.0.1:8080".
	GatewayURL string
	// ExampleKey is put in the first-run hint. It is a credential: set it in
	// simulated mode only. "" shows a placeholder.
	ExampleKey string
	// Hosts are the names, with or without a port, under which the console may
	// be reached beside the loopback ones. Any other Host is refused, because a
	// foreign page could otherwise rebind its name to this address.
	Hosts []string
	// Secure marks cookies Secure even over plain http, for a proxy that ends TLS.
	Secure bool

	// Now is the time of day; nil is time.Now.
	Now func() time.Time
	// Log gets internal errors; nil discards them.
	Log *slog.Logger
}

func (c *Config) check() error {
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"Live", c.Live == nil},
		{"History", c.History == nil},
		{"Revisions", c.Revisions == nil},
		{"Drafts", c.Drafts == nil},
		{"Activator", c.Activator == nil},
		{"Holds", c.Holds == nil},
		{"Operators", c.Operators == nil},
		{"Sessions", c.Sessions == nil},
	} {
		if f.missing {
			return fmt.Errorf("new console: %s is not set: %w", f.name, errConfig)
		}
	}
	if c.Name == "" {
		c.Name = "spillway"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return nil
}

var errConfig = errors.New("incomplete configuration")
