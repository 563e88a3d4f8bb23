package main

import (
	"cmp"
	"errors"
	"flag"
	"io/fs"
	"log/slog"
	"time"

	"github.com/spillway-llm/spillway/cmd/server/config"
	"github.com/spillway-llm/spillway/core/policy"
)

// The addresses and folder of a server that was told nothing.
const (
	defaultListen = "127.0.0.1:8080"
	defaultData   = "./spillway-data"
)

// Options are what a server is started with. The zero value serves without a
// configuration file, on the default address.
type Options struct {
	// Config is the configuration file; "" takes spillway.yaml if it is there.
	Config string
	// Data, Listen and Console win over the file where they are not "".
	Data, Listen, Console string
	// ReadyFile is written once the server serves; "" writes none.
	ReadyFile string
	// NoBackground leaves the engine's background work to `server tick` (R16.1).
	NoBackground bool

	// Env finds environment variables; nil finds none.
	Env config.LookupFunc
	// Log is where the server logs; nil discards.
	Log *slog.Logger
	// Worker bounds the process that compiles and runs policy drafts.
	Worker policy.WorkerLimits
	// Drain bounds the wait for running requests at the end; 0 means 30 s.
	Drain time.Duration
}

func (o Options) withDefaults() Options {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Drain = cmp.Or(o.Drain, 30*time.Second)
	return o
}

// flags declares the flags that options come from.
func (o *Options) flags(f *flag.FlagSet) {
	o.placeFlags(f)
	f.StringVar(&o.Listen, "listen", "", "the gateway's `address` (default "+defaultListen+")")
	f.StringVar(&o.Console, "console", "", "the console's own `address` (default: the gateway's, under /console/)")
	f.StringVar(&o.ReadyFile, "ready-file", "", "`file` to write addresses and first credentials to, once serving")
	f.BoolVar(&o.NoBackground, "no-background", false, "leave the engine's background work to `server tick` by a cron")
}

// placeFlags declares the flags that say where configuration and data are.
func (o *Options) placeFlags(f *flag.FlagSet) {
	f.StringVar(&o.Config, "config", "", "configuration `file` (default "+config.DefaultFile+", if it exists)")
	f.StringVar(&o.Data, "data", "", "`folder` of the database (default "+defaultData+")")
}

// load reads the configuration with the flags over it, and the file's name, ""
// where there is none.
func (o Options) load() (c *config.Config, file string, err error) {
	file = cmp.Or(o.Config, config.DefaultFile)
	c, err = config.Load(file, o.Env)
	if errors.Is(err, fs.ErrNotExist) && o.Config == "" {
		c, file, err = &config.Config{}, "", nil
	}
	if err != nil {
		return nil, file, err
	}
	c.Listen = cmp.Or(o.Listen, c.Listen, defaultListen)
	c.Data = cmp.Or(o.Data, c.Data, defaultData)
	c.Console.Listen = cmp.Or(o.Console, c.Console.Listen)
	if len(c.Providers) == 0 {
		c.Providers, c.Targets = config.FromEnvironment(o.Env)
	}
	return c, file, nil
}
