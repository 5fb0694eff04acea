package worker

import (
	"context"
	"slices"
	"sync"
	"time"
)

// barrier lets one wait until everything that was under way at a moment has ended,
// while new work begins and goes on. The zero value is ready. Safe for concurrent use.
type barrier struct {
	mu   sync.Mutex
	now  *generation
	past []*generation // passed, and not ended when last looked at
	left time.Time     // when work ended last
}

// generation is the work that began between two passes.
type generation struct {
	running int
	passed  bool
	done    chan struct{} // closed when passed and nothing runs
}

// enter notes that work begins; the caller MUST call leave when it has ended.
func (b *barrier) enter() (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.current()
	g.running++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.left = time.Now()
		if g.running--; g.running == 0 && g.passed {
			close(g.done)
		}
	}
}

// busy reports whether any work is under way.
func (b *barrier) busy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running()
}

// running is busy for who holds the lock.
func (b *barrier) running() bool {
	return b.current().running > 0 || slices.ContainsFunc(b.past, func(g *generation) bool { return g.running > 0 })
}

// calm is how long after the last work there is probably more to come.
const calm = 20 * time.Millisecond

// lately reports whether work is under way or ended a moment ago.
func (b *barrier) lately() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Since(b.left) < calm || b.running()
}

func (b *barrier) current() *generation {
	if b.now == nil {
		b.now = &generation{done: make(chan struct{})}
	}
	return b.now
}

// pass waits until all that is under way has ended, whoever else waits or gave up waiting for
// it, or ctx is done.
func (b *barrier) pass(ctx context.Context) error {
	b.mu.Lock()
	g := b.current()
	b.now = nil
	g.passed = true
	b.past = slices.DeleteFunc(b.past, func(g *generation) bool { return g.running == 0 })
	if g.running == 0 {
		close(g.done)
	} else {
		b.past = append(b.past, g)
	}
	past := slices.Clone(b.past)
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
