package erasure

import "testing"

func TestOpenErasuresMissesNone(t *testing.T) {
	t.Parallel()
	var o openErasures
	seen, settled := o.lookUpSettled("acme")
	if settled {
		t.Fatal("settled before anything was looked at")
	}
	o.markSettled("acme", seen)
	if _, settled = o.lookUpSettled("acme"); !settled {
		t.Fatal("not settled")
	}
	end := o.beginErasure("acme")
	seen, settled = o.lookUpSettled("acme") // it may be in the log, or not
	o.markSettled("acme", seen)
	end()
	if _, again := o.lookUpSettled("acme"); settled || again {
		t.Error("settled while an erasure is on its way")
	}
	seen, _ = o.lookUpSettled("acme")
	o.beginErasure("acme")()
	o.markSettled("acme", seen)
	if _, settled = o.lookUpSettled("acme"); settled {
		t.Error("settled although another erasure has begun since")
	}
	if _, settled = o.lookUpSettled("globex"); settled {
		t.Error("another tenant is settled")
	}
}
