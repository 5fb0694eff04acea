package projection

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever passes waits for all that began before, though another has passed since, or gave up.
func TestEveryPassWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b barrier
		leave := b.enterWork()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.drainWork(gone); !errors.Is(err, context.Canceled) {
			t.Fatalf("a pass that is given up: %v", err)
		}
		if !b.hasRunningWork() {
			t.Error("what is under way is forgotten")
		}
		passed := make(chan error, 2)
		for range 2 {
			go func() { passed <- b.drainWork(t.Context()) }()
		}
		synctest.Wait()
		if n := len(passed); n != 0 {
			t.Fatalf("%d passed before the work had ended", n)
		}
		later := b.enterWork() // nobody waits for it
		leave()
		for range 2 {
			if err := <-passed; err != nil {
				t.Error(err)
			}
		}
		later()
		if b.hasRunningWork() {
			t.Error("nothing is under way")
		}
	})
}

// Work that ended a moment ago counts as lately, and no longer.
func TestLately(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b barrier
		if b.isLatelyBusy() {
			t.Error("before any work")
		}
		leave := b.enterWork()
		time.Sleep(time.Second)
		if !b.isLatelyBusy() {
			t.Error("not while work is under way")
		}
		leave()
		if time.Sleep(calm - 1); b.hasRunningWork() || !b.isLatelyBusy() {
			t.Error("not a moment after the work has ended")
		}
		if time.Sleep(time.Nanosecond); b.isLatelyBusy() {
			t.Error("long after the work has ended")
		}
	})
}

func TestBarrierWaitsForWhatIsUnderWayOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b barrier
		if err := b.drainWork(t.Context()); err != nil {
			t.Fatalf("nothing is under way: %v", err)
		}
		leave := b.enterWork()
		passed := make(chan error, 1)
		go func() { passed <- b.drainWork(t.Context()) }()
		synctest.Wait()
		later := b.enterWork() // begins after the pass has
		select {
		case <-passed:
			t.Fatal("passed while work was under way")
		default:
		}
		leave()
		if err := <-passed; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.drainWork(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("pass while work never ends: %v", err)
		}
		later()
		if err := b.drainWork(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
