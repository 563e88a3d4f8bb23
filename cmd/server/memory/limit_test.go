package memory_test

import (
	"testing"
	"testing/fstest"

	"github.com/spillway-llm/spillway/cmd/server/memory"
)

func TestLimit(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	machine := file("MemTotal:        8388608 kB\nMemFree: 1 kB\n")
	for name, tt := range map[string]struct {
		root fstest.MapFS
		want int64
	}{
		"machine":           {fstest.MapFS{"proc/meminfo": machine}, 8 * gib},
		"container":         {fstest.MapFS{"proc/meminfo": machine, "sys/fs/cgroup/memory.max": file("1073741824\n")}, gib},
		"container_no_max":  {fstest.MapFS{"proc/meminfo": machine, "sys/fs/cgroup/memory.max": file("max\n")}, 8 * gib},
		"version_1":         {fstest.MapFS{"proc/meminfo": machine, "sys/fs/cgroup/memory/memory.limit_in_bytes": file("2147483648\n")}, 2 * gib},
		"version_1_no_max":  {fstest.MapFS{"proc/meminfo": machine, "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 8 * gib},
		"service_of_a_host": {fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/system.slice/spillway.service\n"), "sys/fs/cgroup/system.slice/spillway.service/memory.max": file("536870912")}, gib / 2},
		"slice_above":       {fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/memory.max": file("536870912"), "sys/fs/cgroup/a/b/memory.max": file("max")}, gib / 2},
		"nothing_known":     {fstest.MapFS{}, 0},
		"nonsense":          {fstest.MapFS{"proc/meminfo": file("MemTotal: lots\n"), "sys/fs/cgroup/memory.max": file("")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := memory.Limit(tt.root)
			if want := tt.want / 10 * 9; got != want || ok != (want > 0) {
				t.Errorf("Limit = %d, %v, want %d", got, ok, want)
			}
		})
	}
}
