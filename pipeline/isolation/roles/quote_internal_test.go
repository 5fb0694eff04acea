package roles

import (
	"testing"
	"time"
)

// TestAnotherWriterReplacesNothing: a later note of another writer does not come before a note about the same thing.
func TestAnotherWriterReplacesNothing(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := quotation{note: true, writer: "finance", made: at, vector: []float32{1}}
	later := first
	later.made = at.AddDate(0, 1, 0)
	if !later.canReplace(&first) {
		t.Error("a later note of the same writer does not replace the first")
	}
	if later.writer = "eve"; later.canReplace(&first) {
		t.Error("a note of another writer replaces the first")
	}
}
