package projection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// After the start, while a tenant's indexes are rebuilt, and when another vector index takes
// over, the indexes may lack what the log has acknowledged: they may list what was erased or
// superseded. The first request of a tenant then notes the log's head, its floor, and nobody
// searches before the indexes have passed it. From then on a request costs one look-up
// without a lock.

// markStale makes requests of the tenant wait for a floor again. The caller holds p.mu.
func (p *Projector) markStale(name string, t *progress) {
	t.minPosition = unknown
	p.ready.Delete(name)
}

// isReady reports whether requests of a tenant need not wait.
func (p *Projector) isReady(tenant string) bool {
	t, ok := p.ready.Load(tenant)
	if ok {
		t.(*progress).noteLastUse()
	}
	return ok
}

// Recheck brings a tenant's indexes up to the log by what they say themselves of how far they
// are, as after one of them was damaged. Requests wait until it is done.
func (p *Projector) Recheck(ctx context.Context, s scope.Scope) error {
	if err := s.Check(); err != nil {
		return err
	}
	t := p.obtainProgress(s.Tenant())
	p.mu.Lock()
	p.markStale(s.Tenant(), t)
	t.advancePosition(unknown, unknown)
	p.mu.Unlock()
	return p.catchUp(ctx, s.Tenant(), nil)
}

// awaitReady waits until the tenant's indexes have passed its floor. A store that does not answer
// holds nobody up: what is searched says which one was left out. final is false then, and the
// next request looks again.
func (p *Projector) awaitReady(ctx context.Context, s scope.Scope) (final bool, err error) {
	if p.isReady(s.Tenant()) {
		return true, nil
	}
	floor, err := p.minPosition(ctx, s)
	if err != nil || floor == 0 {
		return false, err
	}
	t := p.obtainProgress(s.Tenant())
	for {
		at, reached, moved := p.readProgress(t)
		if reached != unknown && reached >= floor {
			return p.confirmReady(ctx, s, t, floor)
		}
		if at == unknown {
			err := p.catchUp(ctx, s.Tenant(), nil)
			if now, _, _ := p.readProgress(t); now != unknown {
				continue // how far it came says more than why it came no further
			}
			if err != nil {
				return false, err
			}
			continue
		}
		if err := p.awaitProgress(ctx, s.Tenant(), moved, nil, time.Time{}); err != nil {
			return false, err
		}
	}
}

func (p *Projector) readProgress(t *progress) (at, reached int64, moved <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return t.position, t.answering, t.moved
}

// minPosition returns the tenant's floor, which is the log's head when there is none yet; 0 when
// the log is empty.
func (p *Projector) minPosition(ctx context.Context, s scope.Scope) (int64, error) {
	head, err := p.cfg.Log.Head(ctx, s)
	if err != nil || head.Size == 0 {
		return 0, err
	}
	t := p.obtainProgress(s.Tenant())
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.minPosition == unknown {
		t.minPosition = head.Size
	}
	return t.minPosition, nil
}

// confirmReady waits for the stores that the workers share, and makes the tenant ready when every
// store has passed the floor and nothing has begun anew meanwhile.
func (p *Projector) confirmReady(ctx context.Context, s scope.Scope, t *progress, floor int64) (final bool, err error) {
	shared := p.awaitShared(ctx, s, floor)
	if shared != nil && ctx.Err() != nil {
		return false, shared
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if shared == nil && t.minPosition == floor && t.position != unknown && t.position >= floor {
		p.ready.Store(s.Tenant(), t)
		return true, nil
	}
	return false, nil
}

// Enter notes that a request that searches begins, as soon as the tenant's indexes have what
// was acknowledged; the caller MUST call leave when it has ended. A request that waits is
// under way for nobody: a rebuild waits for those that are. When the indexes are not there in time
// the error is a *schemas.Error that says how far they are.
func (p *Projector) Enter(ctx context.Context, s scope.Scope) (leave func(), err error) {
	if p.isReady(s.Tenant()) {
		leave = p.requests.enterWork()
		if p.isReady(s.Tenant()) {
			return leave, nil
		}
		leave()
	}
	limited := ctx
	if end, bounded := ctx.Deadline(); bounded { // the caller is told why before it has gone
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, time.Until(end)*4/5)
		defer cancel()
	}
	for {
		final, err := p.awaitReady(limited, s)
		if err != nil {
			return nil, p.notReady(limited, s, err)
		}
		leave = p.requests.enterWork()
		if !final || p.isReady(s.Tenant()) {
			return leave, nil
		}
		leave()
	}
}

// notReady says how far the indexes are from where a request may search them, when they are not
// there in time.
func (p *Projector) notReady(ctx context.Context, s scope.Scope, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return err
	}
	t := p.obtainProgress(s.Tenant())
	p.mu.Lock()
	reached := max(0, t.answering)
	floor := t.minPosition
	p.mu.Unlock()
	e := &schemas.Error{Code: schemas.CodeDeadlineExceeded, Message: fmt.Sprintf("the indexes are at position %d of %d, and what was acknowledged before the start or the rebuild is not all in them: ask again", reached, floor)}
	if reached >= floor {
		e.Message = fmt.Sprintf("an index that the workers share is not at position %d yet: ask again", floor)
	}
	return e
}
