// Package memory sizes the garbage collector for the machine or container it runs in.
package memory

import (
	"io/fs"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// gcPercent lets the heap grow fivefold between collections: 5 µs less CPU per
// request for about 12 MB, measured (docs/adr/0008).
const gcPercent = 400

// Tune sets the collector's pace and the soft memory limit, each unless the
// environment already did. root is the machine's file system.
func Tune(root fs.FS, env func(string) (string, bool)) {
	if _, set := env("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, set := env("GOMEMLIMIT"); set {
		return
	}
	if n, ok := Limit(root); ok {
		debug.SetMemoryLimit(n)
	}
}

// Limit is nine tenths of the memory that this process may use, in bytes: its
// control group's limit, or the machine's memory where that is less. The tenth
// is for what the collector does not count, SQLite's memory above all. It is
// false where neither can be read.
func Limit(root fs.FS) (int64, bool) {
	least := int64(0)
	for _, n := range append(groupLimits(root), machineMemory(root)) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least / 10 * 9, least > 0
}

// groupLimits reads the limits of the process's control group and of every
// group above it, because the tightest one counts.
func groupLimits(root fs.FS) []int64 {
	limits := []int64{
		number(root, "sys/fs/cgroup/memory.max"),                   // version 2, in a container
		number(root, "sys/fs/cgroup/memory/memory.limit_in_bytes"), // version 1
	}
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return limits
	}
	for line := range strings.Lines(string(text)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		for ok && group != "" && group != "." {
			limits = append(limits, number(root, path.Join("sys/fs/cgroup", group, "memory.max")))
			group = path.Dir(group)
		}
	}
	return limits
}

// number reads a file that holds one number; 0 for "max" and for none.
func number(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// machineMemory reads the machine's memory in bytes, 0 where that is not known.
func machineMemory(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "MemTotal:" {
			continue
		}
		kib, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}
