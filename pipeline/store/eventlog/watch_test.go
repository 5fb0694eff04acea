package eventlog

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchTellsQuietGrowthLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watchers
		w.init()
		defer w.close()
		grown := w.open(t.Context(), false)
		begun := time.Now()
		told := func(tenant string, after time.Duration) {
			t.Helper()
			if got := <-grown; got != tenant || time.Since(begun) != after {
				t.Errorf("told of %q after %v, want %q after %v", got, time.Since(begun), tenant, after)
			}
		}
		waits := w.next("a")
		w.notify("a", true, true)
		w.notify("b", true, true)
		w.notify("a", true, true)
		<-waits.told // who waits for a tenant hears at once
		w.notify("c", true, false)
		told("c", 0)
		w.notify("b", true, false) // what comes next takes it along
		told("b", 0)
		told("a", quietFor)
		w.notify("a", true, false)
		w.notify("a", true, true) // told already
		told("a", quietFor)
		w.notify("b", true, true)
		told("b", 2*quietFor)
		own := w.open(t.Context(), true)
		begun = time.Now()
		w.notify("a", true, true)
		if got := <-own; got != "a" || time.Since(begun) != 0 {
			t.Errorf("who tells others was told of %q after %v", got, time.Since(begun))
		}
		told("a", quietFor)
		<-time.After(time.Hour)
		select {
		case tenant := <-grown:
			t.Errorf("told of %q, and nothing grew", tenant)
		default:
		}
	})
}

// TestNobodyWaits: a tenant that nobody waits for any more leaves nothing.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	var w watchers
	w.init()
	defer w.close()
	a, b := w.next("ghost"), w.next("ghost")
	w.leave("ghost", a)
	if w.grown["ghost"] != b {
		t.Error("the second caller is not waited for")
	}
	w.notify("ghost", true, false)
	c := w.next("ghost")
	w.leave("ghost", b)
	if w.grown["ghost"] != c {
		t.Error("who left before takes along who came after")
	}
	w.leave("ghost", c)
	if len(w.grown) > 0 {
		t.Errorf("left: %v", w.grown)
	}
}
