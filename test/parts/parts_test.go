package parts_test

import (
	"testing"

	"satchel/test/parts"
)

func TestRequired(t *testing.T) {
	t.Setenv(parts.RequireVar, "tmpfs, postgres")
	for part, want := range map[string]bool{"postgres": true, "tmpfs": true, "post": false, "": false, "neo4j": false} {
		if got := parts.Required(part); got != want {
			t.Errorf("%q is required: %v", part, got)
		}
	}
}
