package diff_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spillway-llm/spillway/console/diff"
)

func render(lines []diff.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteByte(byte(l.Op))
		b.WriteString(l.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

func TestLines(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, before, after, want string }{
		{"equal", "a\nb\n", "a\nb\n", " a\n b\n"},
		{"both_empty", "", "", ""},
		{"insert_at_end", "a\n", "a\nb\n", " a\n+b\n"},
		{"insert_at_start", "b\n", "a\nb\n", "+a\n b\n"},
		{"delete", "a\nb\nc\n", "a\nc\n", " a\n-b\n c\n"},
		{"change", "a\nb\nc\n", "a\nX\nc\n", " a\n-b\n+X\n c\n"},
		{"from_nothing", "", "a\nb", "+a\n+b\n"},
		{"to_nothing", "a\nb", "", "-a\n-b\n"},
		{"shared_in_the_middle", "a\nk\nb\n", "x\nk\ny\n", "-a\n+x\n k\n-b\n+y\n"},
		{"final_newline_is_no_change", "a", "a\n", " a\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := render(diff.Lines(tc.before, tc.after)); got != tc.want {
				t.Errorf("got\n%swant\n%s", got, tc.want)
			}
		})
	}
}

// TestLines_Rebuild holds the property that makes a diff true: its equal and
// deleted lines are the old text, its equal and inserted lines the new one.
func TestLines_Rebuild(t *testing.T) {
	t.Parallel()
	text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "before"), text.Draw(t, "after")
		var before, after []string
		for _, l := range diff.Lines(strings.Join(a, "\n"), strings.Join(b, "\n")) {
			if l.Op != diff.Insert {
				before = append(before, l.Text)
				if l.Old != len(before) {
					t.Fatalf("old line %q has number %d, not %d", l.Text, l.Old, len(before))
				}
			}
			if l.Op != diff.Delete {
				after = append(after, l.Text)
				if l.New != len(after) {
					t.Fatalf("new line %q has number %d, not %d", l.Text, l.New, len(after))
				}
			}
		}
		if strings.Join(before, "\n") != strings.Join(a, "\n") || strings.Join(after, "\n") != strings.Join(b, "\n") {
			t.Fatalf("rebuilt %v and %v from %v and %v", before, after, a, b)
		}
	})
}

func TestLines_Bounded(t *testing.T) {
	t.Parallel()
	before, after := strings.Repeat("a\nb\n", 3000), strings.Repeat("c\n", 5000)
	inserted, deleted := diff.Stat(before, after)
	if inserted != 5000 || deleted != 6000 {
		t.Errorf("got +%d -%d, want everything replaced: +5000 -6000", inserted, deleted)
	}
}

func TestHunks(t *testing.T) {
	t.Parallel()
	before := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	after := "1\nX\n3\n4\n5\n6\n7\n8\n9\n10\nY\n12\n"
	hunks := diff.Hunks(before, after, 2)
	if len(hunks) != 2 {
		t.Fatalf("got %d hunks, want 2", len(hunks))
	}
	if got, want := render(hunks[0].Lines), " 1\n-2\n+X\n 3\n 4\n"; got != want {
		t.Errorf("first hunk: got\n%swant\n%s", got, want)
	}
	if got, want := render(hunks[1].Lines), " 9\n 10\n-11\n+Y\n 12\n"; got != want {
		t.Errorf("second hunk: got\n%swant\n%s", got, want)
	}
	if got := diff.Hunks(before, before, 2); got != nil {
		t.Errorf("equal texts have hunks: %v", got)
	}
	if got := diff.Hunks(before, after, 6); len(got) != 1 || render(got[0].Lines) != render(diff.Lines(before, after)) {
		t.Errorf("overlapping contexts are not one hunk: %v", got)
	}
}
