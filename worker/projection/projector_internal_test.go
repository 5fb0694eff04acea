package projection

import (
	"testing"
	"testing/synctest"
	"time"
)

// Who waits for a tenant's position says so to the pace of its steps, once however many wait.
func TestAwaitHurriesTheNextStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &Projector{tenants: map[string]*progress{}}
		moved, done := p.obtainProgress("acme").moved, make(chan error, 2)
		for range 2 {
			go func() { done <- p.awaitProgress(t.Context(), "acme", moved, nil, time.Time{}) }()
		}
		synctest.Wait()
		if n := len(p.obtainProgress("acme").wanted); n != 1 {
			t.Errorf("%d calls to hurry, want 1", n)
		}
		if n := len(p.obtainProgress("globex").wanted); n != 0 {
			t.Errorf("%d calls to hurry for another tenant", n)
		}
		close(moved)
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}
