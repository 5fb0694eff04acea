package worker_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is not there cannot be certified as erased; what was erased is not there.
func TestErasureOfNothingIsRefused(t *testing.T) {
	t.Parallel()
	w := prepare(t)
	w.start(t)
	w.publish(t, "acme", recorded(t, "a", "free"), forgetting(t, "typo", "aa"), forgetting(t, "good", "a"))
	w.receipt(t, "acme", "good")
	w.publish(t, "acme", forgetting(t, "again", "a"))
	if diff := cmp.Diff([]string{"typo unknown_item", "again unknown_item"}, w.letters(t, 2)); diff != "" {
		t.Error(diff)
	}
}
