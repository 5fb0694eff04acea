package service

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// Never are there more at work than there are places, of one, of a tenant and of all, and
// everybody gets a turn.
func TestPlaces(t *testing.T) {
	t.Parallel()
	p := newAdmission(1, 2, 3)
	var at [3]atomic.Int32
	var group sync.WaitGroup
	for i := range 300 {
		group.Go(func() {
			tenant := string(rune('a' + i%3))
			leave, err := p.acquirePlace(t.Context(), tenant, string(rune('p'+i%5)))
			if err != nil {
				t.Error(err)
				return
			}
			defer leave()
			defer at[i%3].Add(-1)
			if at[i%3].Add(1) > 2 || at[0].Load()+at[1].Load()+at[2].Load() > 3 {
				t.Error("too many at a time")
			}
		})
	}
	group.Wait()
	if len(p.taken) != 0 {
		t.Errorf("%v are still taken", p.taken)
	}
	leave, _ := p.tryAcquire("a", "x")
	if again, _ := p.tryAcquire("a", "x"); again != nil {
		t.Error("a principal has two places")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := p.acquirePlace(ctx, "a", "x"); !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
	leave()
	if again, _ := p.tryAcquire("a", "x"); again == nil {
		t.Error("a place that was left is not free")
	}
}
