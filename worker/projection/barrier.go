package projection

import (
	"context"
	"slices"
	"sync"
	"time"
)

// barrier lets one wait until everything that was under way at a moment has ended,
// while new work begins and goes on. The zero value is ready. Safe for concurrent use.
type barrier struct {
	mu      sync.Mutex
	now     *epoch
	drained []*epoch  // passed, and not ended when last looked at
	left    time.Time // when work ended last
}

// epoch is the work that began between two drains.
type epoch struct {
	running int
	drained bool
	done    chan struct{} // closed when passed and nothing runs
}

// enterWork notes that work begins; the caller MUST call leave when it has ended.
func (b *barrier) enterWork() (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.ensureEpoch()
	g.running++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.left = time.Now()
		g.running--
		if g.running == 0 && g.drained {
			close(g.done)
		}
	}
}

// hasRunningWork reports whether any work is under way.
func (b *barrier) hasRunningWork() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hasRunningEpoch()
}

// hasRunningEpoch is busy for who holds the lock.
func (b *barrier) hasRunningEpoch() bool {
	return b.ensureEpoch().running > 0 || slices.ContainsFunc(b.drained, func(g *epoch) bool { return g.running > 0 })
}

// calm is how long after the last work there is probably more to come.
const calm = 20 * time.Millisecond

// isLatelyBusy reports whether work is under way or ended a moment ago.
func (b *barrier) isLatelyBusy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Since(b.left) < calm || b.hasRunningEpoch()
}

func (b *barrier) ensureEpoch() *epoch {
	if b.now == nil {
		b.now = &epoch{done: make(chan struct{})}
	}
	return b.now
}

// drainWork waits until all that is under way has ended, whoever else waits or gave up waiting for
// it, or ctx is done.
func (b *barrier) drainWork(ctx context.Context) error {
	b.mu.Lock()
	g := b.ensureEpoch()
	b.now = nil
	g.drained = true
	b.drained = slices.DeleteFunc(b.drained, func(g *epoch) bool { return g.running == 0 })
	if g.running == 0 {
		close(g.done)
	} else {
		b.drained = append(b.drained, g)
	}
	past := slices.Clone(b.drained)
	b.mu.Unlock()
	for _, g := range past {
		select {
		case <-g.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
