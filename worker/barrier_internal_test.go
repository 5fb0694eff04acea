package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// Whoever passes waits for all that began before, though another has passed since, or gave up.
func TestEveryPassWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b barrier
		leave := b.enter()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.pass(gone); !errors.Is(err, context.Canceled) {
			t.Fatalf("a pass that is given up: %v", err)
		}
		if !b.busy() {
			t.Error("what is under way is forgotten")
		}
		passed := make(chan error, 2)
		for range 2 {
			go func() { passed <- b.pass(t.Context()) }()
		}
		synctest.Wait()
		if n := len(passed); n != 0 {
			t.Fatalf("%d passed before the work had ended", n)
		}
		later := b.enter() // nobody waits for it
		leave()
		for range 2 {
			if err := <-passed; err != nil {
				t.Error(err)
			}
		}
		later()
		if b.busy() {
			t.Error("nothing is under way")
		}
	})
}
