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
		defer w.closeWatchers()
		grown := w.openFeed(t.Context(), false)
		begun := time.Now()
		told := func(tenant string, after time.Duration) {
			t.Helper()
			if got := <-grown; got != tenant || time.Since(begun) != after {
				t.Errorf("told of %q after %v, want %q after %v", got, time.Since(begun), tenant, after)
			}
		}
		waits := w.joinGrowth("a")
		w.wakeWatchers("a", true, true)
		w.wakeWatchers("b", true, true)
		w.wakeWatchers("a", true, true)
		<-waits.told // who waits for a tenant hears at once
		w.wakeWatchers("c", true, false)
		told("c", 0)
		w.wakeWatchers("b", true, false) // what comes next takes it along
		told("b", 0)
		told("a", quietFor)
		w.wakeWatchers("a", true, false)
		w.wakeWatchers("a", true, true) // told already
		told("a", quietFor)
		w.wakeWatchers("b", true, true)
		told("b", 2*quietFor)
		own := w.openFeed(t.Context(), true)
		begun = time.Now()
		w.wakeWatchers("a", true, true)
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
	defer w.closeWatchers()
	a, b := w.joinGrowth("ghost"), w.joinGrowth("ghost")
	w.leaveGrowth("ghost", a)
	if w.grown["ghost"] != b {
		t.Error("the second caller is not waited for")
	}
	w.wakeWatchers("ghost", true, false)
	c := w.joinGrowth("ghost")
	w.leaveGrowth("ghost", b)
	if w.grown["ghost"] != c {
		t.Error("who left before takes along who came after")
	}
	w.leaveGrowth("ghost", c)
	if len(w.grown) > 0 {
		t.Errorf("left: %v", w.grown)
	}
}
