package erasure

import "testing"

func TestOpenErasuresMissesNone(t *testing.T) {
	t.Parallel()
	var o openErasures
	seen, settled := o.look("acme")
	if settled {
		t.Fatal("settled before anything was looked at")
	}
	o.settle("acme", seen)
	if _, settled = o.look("acme"); !settled {
		t.Fatal("not settled")
	}
	end := o.begin("acme")
	seen, settled = o.look("acme") // it may be in the log, or not
	o.settle("acme", seen)
	end()
	if _, again := o.look("acme"); settled || again {
		t.Error("settled while an erasure is on its way")
	}
	seen, _ = o.look("acme")
	o.begin("acme")()
	o.settle("acme", seen)
	if _, settled = o.look("acme"); settled {
		t.Error("settled although another erasure has begun since")
	}
	if _, settled = o.look("globex"); settled {
		t.Error("another tenant is settled")
	}
}
