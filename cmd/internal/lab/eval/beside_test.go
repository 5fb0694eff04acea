package eval

import (
	"testing"
)

// TestBesideFinds: what is worse or not the same is named.
func TestBesideFinds(t *testing.T) {
	t.Parallel()
	good := ServerComparison{Set: "a", Same: true, Vectors: 3, Cosine: .9999, Loss: .01}
	if p := good.problems(); len(p) > 0 {
		t.Errorf("%v", p)
	}
	bad := ServerComparison{Set: "a", Differ: []string{"one/graph"}, Vectors: 3, Cosine: .99, Loss: .02}
	if p := bad.problems(); len(p) != 3 {
		t.Errorf("%v", p)
	}
}
