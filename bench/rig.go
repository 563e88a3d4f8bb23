package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/bench/mock"
	"github.com/spillway-llm/spillway/bench/process"
)

// subject is one of the programs that are compared.
type subject struct {
	name string
	addr string
	key  string           // the caller's key, "" for none
	proc *process.Process // nil for the vendor itself
}

// rig is the mock vendor and the subjects in front of it.
type rig struct {
	folder         string
	vendor         *process.Process
	vendorAddr     string
	proxy, gateway subject
	keep           bool
	repeats        int // how many measurements may still be taken again
}

// newRig builds and starts everything.
func newRig(o options) (*rig, error) {
	folder, err := os.MkdirTemp("", "spillway-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	r := &rig{folder: folder, repeats: o.repeats, keep: o.keep}
	if err := r.start(o); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *rig) start(o options) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if r.vendor, r.vendorAddr, err = child(self, "mock"); err != nil {
		return err
	}
	args := []string{"proxy", "-upstream", "http://" + r.vendorAddr}
	if o.pooled {
		args = append(args, "-pool")
	}
	r.proxy.name = "proxy"
	if r.proxy.proc, r.proxy.addr, err = child(self, args...); err != nil {
		return err
	}
	if o.server == "" {
		o.server = filepath.Join(r.folder, "server")
		build := exec.Command("go", "build", "-o", o.server, "./cmd/server")
		build.Dir = o.root
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the server: %w: %s", err, out)
		}
	}
	return r.startGateway(o)
}

// child starts one of this program's own children.
func child(self string, args ...string) (p *process.Process, addr string, err error) {
	if p, err = process.Start(nil, self, args...); err != nil {
		return nil, "", err
	}
	if addr, err = p.Line(); err != nil {
		return nil, "", errors.Join(err, p.Stop())
	}
	return p, addr, nil
}

// close stops everything and removes the folder.
func (r *rig) close() error {
	var errs []error
	for _, p := range []*process.Process{r.gateway.proc, r.proxy.proc, r.vendor} {
		if p != nil {
			errs = append(errs, p.Stop())
		}
	}
	if r.keep {
		fmt.Fprintln(os.Stderr, "bench: kept", r.folder)
	} else {
		errs = append(errs, os.RemoveAll(r.folder))
	}
	return errors.Join(errs...)
}

// config is the gateway's configuration: two providers at the mock, and prices,
// so that costs are counted too.
func config(vendor string) string {
	var b strings.Builder
	b.WriteString("providers:\n")
	for _, wire := range []string{"anthropic", "openai"} {
		fmt.Fprintf(&b, "  - {id: %[1]s, wire: %[1]s, nodes: [{url: \"http://%[2]s\"}], keys: [{id: bench, value: \"${BENCH_VENDOR_KEY}\"}]}\n", wire, vendor)
	}
	b.WriteString("targets:\n")
	for _, m := range models() {
		fmt.Fprintf(&b, "  - {id: %s, provider: %s, family: %s, context_tokens: 200000, max_output_tokens: 64000, capabilities: [tools],\n"+
			"     price: {input: 1, output: 5, cache_read: 0.1, cache_write: 1.25, cache_write_1h: 2, as_of: 2026-11-30}}\n", m.name, m.provider, m.family)
	}
	return b.String()
}

// startGateway starts the server with policies, circuits and audit on, as it comes.
func (r *rig) startGateway(o options) error {
	file, data := filepath.Join(r.folder, "spillway.yaml"), filepath.Join(r.folder, "data")
	if err := os.WriteFile(file, []byte(config(r.vendorAddr)), 0o600); err != nil {
		return fmt.Errorf("write the server's configuration: %w", err)
	}
	env := []string{"BENCH_VENDOR_KEY=bench-vendor-key"}
	ready := filepath.Join(r.folder, "ready.json")
	args := []string{"--config", file, "--data", data, "--listen", "127.0.0.1:0", "--ready-file", ready}
	if o.profile != "" {
		args = append(args, "--cpuprofile", o.profile)
	}
	args = append(args, strings.Fields(o.serverArgs)...)
	r.gateway.name = "spillway"
	var err error
	if r.gateway.proc, err = process.Start(env, o.server, args...); err != nil {
		return err
	}
	r.gateway.proc.Drain()
	told, err := awaitReady(ready)
	if err != nil {
		return err
	}
	r.gateway.addr = told.gateway
	if told.console != "" { // a stand-in of a test has none
		if err := raiseLimits(told.console, told.password, o.root); err != nil {
			return err
		}
	}
	r.gateway.key, err = callerKey(o.server, file, data, env)
	return err
}

// told is what the server says once it serves: the gateway's address, and how an
// operator gets in.
type told struct{ gateway, console, password string }

// awaitReady waits for the server's ready file.
func awaitReady(file string) (told, error) {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		b, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			return told{}, fmt.Errorf("wait for the server to be ready: %w", err)
		}
		var ready struct {
			Gateway  string `json:"gateway"`
			Console  string `json:"console"`
			Password string `json:"password"`
		}
		if err := json.Unmarshal(b, &ready); err != nil {
			return told{}, fmt.Errorf("ready file: %w", err)
		}
		u, err := url.Parse(ready.Gateway)
		if err != nil {
			return told{}, fmt.Errorf("ready file: %w", err)
		}
		return told{u.Host, ready.Console, ready.Password}, nil
	}
}

// set changes how the mock answers.
func (r *rig) set(s mock.Settings) error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("settings of the mock: %w", err)
	}
	req, err := http.NewRequest(http.MethodPut, "http://"+r.vendorAddr+"/settings", bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("settings of the mock: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("settings of the mock: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("settings of the mock: status %d", resp.StatusCode)
	}
	return nil
}

// stats reads the mock's counts.
func (r *rig) stats() (mock.Stats, error) {
	var s mock.Stats
	resp, err := http.Get("http://" + r.vendorAddr + "/stats")
	if err != nil {
		return s, fmt.Errorf("counts of the mock: %w", err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		return s, fmt.Errorf("counts of the mock: %w", err)
	}
	return s, nil
}

// direct is what the mock itself answers to a kind: what must arrive through
// whoever stands in front of it.
func (r *rig) direct(k kind) ([]byte, error) {
	resp, err := http.Post("http://"+r.vendorAddr+k.path, "application/json", bytes.NewReader(k.body))
	if err != nil {
		return nil, fmt.Errorf("ask the mock: %w", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the mock: status %d: %w", resp.StatusCode, err)
	}
	return b, nil
}

// callerKey makes a caller's key of the paid audience. Its output begins with the key.
func callerKey(server, file, data string, env []string) (string, error) {
	cmd := exec.Command(server, "keys", "add", "--name", "bench", "--plan", "paid", "--config", file, "--data", data)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("make a caller's key: %w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("make a caller's key: %w", err)
	}
	key, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(key), nil
}
