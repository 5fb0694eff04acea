package columns_test

import (
	"testing"

	"satchel/pipeline/store/internal/columns"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	var c columns.RollbackCheck
	back := func(tenant string, at int64, want bool) {
		t.Helper()
		if _, got := c.WentBack(tenant, at); got != want {
			t.Errorf("%s at %d went back: %v", tenant, at, got)
		}
	}
	back("a", 0, false)
	c.Raise("a", 9)
	c.Raise("a", 4) // somebody looked while the store was set back
	back("b", 0, false)
	back("a", 9, false)
	back("a", 4, true)
	back("a", 4, false)
	c.Raise("a", 7)
	c.Forget("a")
	back("a", 0, false)
}
