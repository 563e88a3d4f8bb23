// Package process starts a program and reads what it costs from /proc.
package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of CPU time in /proc: Linux shows 100 per second to programs
// on every architecture.
const tick = 10 * time.Millisecond

// Process is a program that runs. It is not safe for concurrent use.
type Process struct {
	cmd    *exec.Cmd
	lines  *bufio.Reader
	stderr bytes.Buffer
}

// Start runs a program. Its errors are kept for [Process.Stop].
func Start(env []string, name string, args ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(name, args...)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.lines = bufio.NewReader(out)
	return p, nil
}

// Line reads the next line that the program prints.
func (p *Process) Line() (string, error) {
	line, err := p.lines.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read output of %s: %w", p.cmd.Path, err)
	}
	return strings.TrimSpace(line), nil
}

// Drain reads and drops what the program prints from now on, so that it can't block on it.
func (p *Process) Drain() {
	go func() { _, _ = io.Copy(io.Discard, p.lines) }() // ends with the program
}

// Stop ends the program and waits for it, by force after five seconds. Its error
// holds what the program wrote to its error output, if it ended badly.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.cmd.Path, err)
	}
	force := time.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() }) // it may have ended
	defer force.Stop()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == -1 {
		return nil // by our signal
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", p.cmd.Path, err, tail(p.stderr.String()))
	}
	return nil
}

// tail is the last part of a text.
func tail(s string) string { return s[max(0, len(s)-2000):] }

// CPU is the processor time that the program used so far.
func (p *Process) CPU() (time.Duration, error) { return CPU(p.cmd.Process.Pid) }

// CPU is the processor time, user and system, that a process used so far.
func CPU(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return parseCPU(string(b))
}

// parseCPU reads fields 14 and 15 of a stat line, counted from behind the name,
// which may hold anything.
func parseCPU(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("read CPU time: %d fields", len(fields))
	}
	var sum int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// RSS is the program's resident memory in bytes.
func (p *Process) RSS() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	return parseRSS(string(b))
}

func parseRSS(status string) (int64, error) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read memory: %w", err)
			}
			return kb << 10, nil
		}
	}
	return 0, errors.New("read memory: no VmRSS")
}

// Busy is the time that all processors of the machine have worked since boot.
func Busy() (time.Duration, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("read busy time: %w", err)
	}
	return parseBusy(string(b))
}

// parseBusy sums user, nice, system, irq, softirq and steal.
func parseBusy(stat string) (time.Duration, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("read busy time: unexpected %q", line)
	}
	var sum int64
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read busy time: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}
