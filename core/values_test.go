package core_test

import (
	"fmt"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

func TestRoundUp2(t *testing.T) {
	t.Parallel()
	for in, want := range map[int]int{-3: 0, 0: 0, 7: 7, 99: 99, 100: 100, 101: 110, 1234: 1300, 1300: 1300, 99_001: 100_000} {
		if got := core.RoundUp2(in); got != want {
			t.Errorf("RoundUp2(%d) = %d, want %d", in, got, want)
		}
	}
}

func TestKind_Text(t *testing.T) {
	t.Parallel()
	for k := range core.KindCount {
		var back core.Kind
		b, _ := k.MarshalText()
		if err := back.UnmarshalText(b); err != nil || back != k {
			t.Errorf("%v came back as %v, %v", k, back, err)
		}
	}
	var k core.Kind
	if k.UnmarshalText([]byte("conect")) == nil {
		t.Error("a misspelt kind was accepted")
	}
}

func TestSecret_NeverPrints(t *testing.T) {
	t.Parallel()
	s := core.NewSecret("hunter2")
	for _, f := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if got := fmt.Sprintf(f, s); got != "[secret]" && got != `"[secret]"` {
			t.Errorf("%s printed %q", f, got)
		}
		if got := fmt.Sprintf(f, struct{ K core.Secret }{s}); len(got) > 60 || contains(got, "hunter2") {
			t.Errorf("%s in a struct printed %q", f, got)
		}
	}
}

func contains(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			return true
		}
	}
	return false
}

func TestRandom_DependsOnItsInputsAlone(t *testing.T) {
	t.Parallel()
	r := core.Random{Seed: 1}
	a := r.Float64(5, core.PurposeBackoff, 0)
	if a != r.Float64(5, core.PurposeBackoff, 0) || a == r.Float64(6, core.PurposeBackoff, 0) || a == r.Float64(5, core.PurposeNode, 0) {
		t.Error("draws are not separated by request and purpose, or don't repeat")
	}
	sum := 0.0
	for i := range 10_000 {
		sum += r.Float64(uint64(i), core.PurposeNode, i)
	}
	if mean := sum / 10_000; mean < 0.48 || mean > 0.52 {
		t.Errorf("mean %v, want about a half", mean)
	}
}
