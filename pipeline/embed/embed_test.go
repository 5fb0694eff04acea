package embed_test

import (
	"testing"

	"satchel/pipeline/embed"
)

func TestModelString(t *testing.T) {
	t.Parallel()
	m := embed.Model{Name: "static", Revision: "0123abcd", Dimensions: 256}
	if got, want := m.String(), "static@0123abcd"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
