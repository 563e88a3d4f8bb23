package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/core"
)

func TestAlarm_KeysThatLeave(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ev   core.Event
		want []string
	}{
		{&core.KeyState{Provider: "o", Key: "k1", Kind: core.KindBilling, By: "vendor", Left: 4, Total: 5}, []string{"WARN", "o", "k1", "billing", "left=4", "total=5"}},
		{&core.KeyState{Provider: "o", Key: "k1", Kind: core.KindBilling, By: "vendor", Left: 2, Total: 5}, []string{"ERROR", "few are left", "left=2"}},
		{&core.KeyState{Provider: "o", Key: "k1", Kind: core.KindAuthProvider, By: "vendor", Total: 1}, []string{"ERROR", "left=0"}},
		{&core.KeyState{Provider: "o", Key: "k1", By: "ada", Left: 4, Total: 5}, []string{"WARN", "by=ada"}},
		{&core.KeyState{Provider: "o", Key: "k1", Usable: true, By: "time", Left: 1, Total: 5}, []string{"INFO", "back in service"}},
		{&core.LevelChange{UseCase: "assistant"}, nil},
	} {
		var out logBuffer
		alarm{slog.New(slog.NewTextHandler(&out, nil))}.Record(tt.ev)
		if len(tt.want) == 0 && out.String() != "" {
			t.Errorf("%+v logged %s", tt.ev, out.String())
		}
		for _, w := range tt.want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%+v logged %s without %s", tt.ev, out.String(), w)
			}
		}
	}
}
