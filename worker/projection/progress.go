package projection

import (
	"context"
	"sync/atomic"
	"time"
)

// progress is how far a tenant's projections have come.
type progress struct {
	run         chan struct{} // capacity 1: holds a token while somebody projects this tenant
	position    int64         // every store is at least here, or unknown
	answering   int64         // every store that answers is at least here, or unknown
	minPosition int64         // where every store has to be before anyone searches; unknown: the log's next head
	moved       chan struct{} // closed when position changes
	wanted      chan struct{} // capacity 1: holds a token when somebody waits for it to change
	erased      int64         // up to where the eraser was told of erasures, or unknown; of whoever runs
	used        atomic.Int64  // Unix nanoseconds of the last request or step
}

// unknown is the position of a tenant that nobody has projected since the start.
const unknown = -1

func (t *progress) acquireRun(ctx context.Context) error {
	select {
	case t.run <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *progress) releaseRun() { <-t.run }

func (p *Projector) obtainProgress(name string) *progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.tenants[name]
	if !ok {
		t = &progress{run: make(chan struct{}, 1), position: unknown, answering: unknown, minPosition: unknown, erased: unknown, moved: make(chan struct{}), wanted: make(chan struct{}, 1)}
		p.tenants[name] = t
	}
	t.noteLastUse()
	return t
}

// setPosition sets how far a tenant has come and tells those who wait.
func (p *Projector) setPosition(t *progress, position int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.advancePosition(position, position)
}

// setProgress is setPosition for a run over targets. A run over targets that serve no more does not
// say where the tenant is.
func (p *Projector) setProgress(t *progress, now *targets, position, reached int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.targets.Load() == now {
		t.advancePosition(position, reached)
	}
}

// advancePosition is setPosition for a caller that holds the projector's lock.
func (t *progress) advancePosition(position, reached int64) {
	if position != t.position || reached != t.answering {
		t.position = position
		t.answering = reached
		close(t.moved)
		t.moved = make(chan struct{})
	}
}

// noteLastUse notes that a tenant is used.
func (t *progress) noteLastUse() { t.used.Store(time.Now().UnixNano()) }
