package pipeline

import (
	"slices"
	"testing"
)

// Notes that two stages add to the same input do not overwrite each other.
func TestNotesAreNotShared(t *testing.T) {
	t.Parallel()
	input := make(Notes, 0, 8).With("a")
	first, second := input.With("b"), input.With("c", "d")
	if !slices.Equal(input, []string{"a"}) || !slices.Equal(first, []string{"a", "b"}) || !slices.Equal(second, []string{"a", "c", "d"}) {
		t.Errorf("notes %q, %q and %q", input, first, second)
	}
	if got := input.With(); !slices.Equal(got, input) {
		t.Errorf("nothing more: %q", got)
	}
}
