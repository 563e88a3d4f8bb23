package main

import (
	"context"
	"fmt"
	"runtime/debug"
)

func printVersion(_ context.Context, p program, _ []string) error {
	_, err := fmt.Fprintln(p.out, "spillway", version())
	return err
}

// version is the module's version, or the commit that was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return "devel"
}
