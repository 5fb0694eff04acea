package worker

import (
	"context"
	"sync"
)

// barrier lets one wait until everything that was under way at a moment has ended,
// while new work begins and goes on. The zero value is ready. Safe for concurrent use.
type barrier struct {
	mu  sync.Mutex
	now *generation
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
		if g.running--; g.running == 0 && g.passed {
			close(g.done)
		}
	}
}

// busy reports whether any work began after the last pass and has not ended.
func (b *barrier) busy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.current().running > 0
}

func (b *barrier) current() *generation {
	if b.now == nil {
		b.now = &generation{done: make(chan struct{})}
	}
	return b.now
}

// pass waits until what is under way has ended, or ctx is done.
func (b *barrier) pass(ctx context.Context) error {
	b.mu.Lock()
	g := b.current()
	b.now = nil
	g.passed = true
	if g.running == 0 {
		close(g.done)
	}
	b.mu.Unlock()
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
