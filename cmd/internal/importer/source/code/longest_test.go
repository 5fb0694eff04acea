package code

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A file that its grammar does not come to an end with is left out, and the next one is parsed.
func TestAFileThatTakesTooLong(t *testing.T) {
	t.Parallel()
	p, err := openParser(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.close(t.Context()) })
	const query = "(function_item) @unit"
	p.longest = 50 * time.Millisecond
	if _, err := p.run(t.Context(), rust, query, []byte(strings.Repeat("[", 4096))); !errors.Is(err, errParse) {
		t.Errorf("the error is %v, want %v", err, errParse)
	}
	p.longest = time.Minute
	if found, err := p.run(t.Context(), rust, query, []byte("fn kiln() {}")); err != nil || len(found) != 1 {
		t.Errorf("%d functions, %v", len(found), err)
	}
}
