package eventlog

import (
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Entries of the last second are kept up to the limit, older ones up to an eighth of it.
func TestOldEntriesTakeAnEighth(t *testing.T) {
	t.Parallel()
	const n = 64
	recent := recentEntries{limit: n * 2 * entryOverhead}
	recent.clearEntries()
	start := time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)
	add := func(position int64, at time.Time) {
		row := Row{Position: position, RecordedAt: at, Content: &Content{Data: make([]byte, entryOverhead)}}
		recent.keepEntries("acme", []Row{row}, make([]tlog.Hash, 1), []*prepared{{draft: &Draft{}}})
	}
	kept := func() (first, last int64) {
		for p := int64(1); p <= 3*n; p++ {
			if _, ok := recent.findLeaf("acme", p); ok {
				if first == 0 {
					first = p
				}
				last = p
			}
		}
		return first, last
	}
	for p := int64(1); p <= 2*n; p++ {
		add(p, start)
	}
	if first, last := kept(); first != n+1 || last != 2*n {
		t.Errorf("within a second %d to %d are kept, want %d to %d", first, last, n+1, 2*n)
	}
	add(2*n+1, start.Add(2*time.Second))
	if first, last := kept(); first != 2*n+1-n/8+1 || last != 2*n+1 {
		t.Errorf("after a second %d to %d are kept, want %d to %d", first, last, 2*n+1-n/8+1, 2*n+1)
	}
}
