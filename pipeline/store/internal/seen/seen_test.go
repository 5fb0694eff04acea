package seen_test

import (
	"testing"

	"satchel/pipeline/store/internal/seen"
)

func TestPositions(t *testing.T) {
	t.Parallel()
	var p seen.Positions
	back := func(tenant string, at int64, want bool) {
		t.Helper()
		if _, got := p.WentBack(tenant, at); got != want {
			t.Errorf("%s at %d went back: %v", tenant, at, got)
		}
	}
	back("a", 0, false)
	p.Raise("a", 9)
	p.Raise("a", 4) // somebody looked while the store was set back
	back("b", 0, false)
	back("a", 9, false)
	back("a", 4, true)
	back("a", 4, false)
	p.Raise("a", 7)
	p.Forget("a")
	back("a", 0, false)
}
