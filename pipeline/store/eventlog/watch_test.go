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
		w.tell("a", true, true)
		w.tell("b", true, true)
		w.tell("a", true, true)
		<-waits // who waits for a tenant hears at once
		w.tell("c", true, false)
		told("c", 0)
		w.tell("b", true, false) // what comes next takes it along
		told("b", 0)
		told("a", quietFor)
		w.tell("a", true, false)
		w.tell("a", true, true) // told already
		told("a", quietFor)
		w.tell("b", true, true)
		told("b", 2*quietFor)
		own := w.open(t.Context(), true)
		begun = time.Now()
		w.tell("a", true, true)
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
