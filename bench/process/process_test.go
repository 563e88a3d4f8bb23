package process_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/bench/process"
)

func TestCostsOfThisProcess(t *testing.T) {
	t.Parallel()
	before, err := process.CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	busyBefore, err := process.Busy()
	if err != nil {
		t.Fatal(err)
	}
	after := before
	for n := 0; after < before+30*time.Millisecond; n++ { // work until it shows
		if after, err = process.CPU(os.Getpid()); err != nil || t.Context().Err() != nil {
			t.Fatal(n, err)
		}
	}
	busy, err := process.Busy()
	if err != nil || busy <= busyBefore {
		t.Errorf("the machine was busy for %v, then %v, %v, want more", busyBefore, busy, err)
	}
}

func TestStartReadStop(t *testing.T) {
	t.Parallel()
	p, err := process.Start([]string{"GREETING=hello"}, "sh", "-c", `echo $GREETING; exec sleep 60`)
	if err != nil {
		t.Fatal(err)
	}
	line, err := p.Line()
	if err != nil || line != "hello" {
		t.Errorf("line %q, %v, want hello", line, err)
	}
	p.Drain()
	if rss, err := p.RSS(); err != nil || rss <= 0 {
		t.Errorf("memory %d, %v", rss, err)
	}
	if _, err := p.CPU(); err != nil {
		t.Error(err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("stop: %v, want its end by our signal to be no error", err)
	}
}

func TestBadEndIsTold(t *testing.T) {
	t.Parallel()
	p, err := process.Start(nil, "sh", "-c", `echo trouble >&2; exit 3`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Line(); err == nil {
		t.Error("a line of a program that prints none")
	}
	if err := p.Stop(); err == nil || !strings.Contains(err.Error(), "trouble") {
		t.Errorf("stop: %v, want the program's own words", err)
	}
	if _, err := process.Start(nil, "/no/such/program"); err == nil {
		t.Error("a program that does not exist was started")
	}
	if _, err := process.CPU(-1); err == nil {
		t.Error("a process that does not exist has a cost")
	}
}
