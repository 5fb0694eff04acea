package treesitter

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A file that its grammar does not come to an end with is left out, and the next one is parsed.
func TestAFileThatTakesTooLong(t *testing.T) {
	t.Parallel()
	p, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(t.Context()) })
	q, err := p.Query(t.Context(), Rust, "(function_item) @unit")
	if err != nil {
		t.Fatal(err)
	}
	p.longest = 50 * time.Millisecond
	if _, err := p.Run(t.Context(), q, []byte(strings.Repeat("[", 4096))); !errors.Is(err, ErrParse) {
		t.Errorf("the error is %v, want %v", err, ErrParse)
	}
	p.longest = time.Minute
	if found, err := p.Run(t.Context(), q, []byte("fn kiln() {}")); err != nil || len(found) != 1 {
		t.Errorf("%d functions, %v", len(found), err)
	}
}
