package blob

import "testing"

// What is looked for before the pattern is in every stamp that the pattern takes.
func FuzzStamps(f *testing.F) {
	for _, line := range []string{"2026-03-03T10:00:00Z up", "2026/03/03 10:00:00.123 x", `- [03/Mar/2026:10:00:00 +0000] "GET`, "Mar  3 10:00:00 host", "at 10:00:00,5", "1:2:3", "x10:00:00"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if stampPattern.MatchString(line) && !hasTime(line) {
			t.Errorf("%q has a stamp", line)
		}
	})
}
