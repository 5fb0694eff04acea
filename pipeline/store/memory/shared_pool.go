package memory

import (
	"context"
	"errors"
	"math"

	"satchel/pipeline/scope"
)

// acquireTenant returns the scope's tenant, loaded and kept so until release, which the caller
// MUST call.
func (x *sharedIndex[S, C]) acquireTenant(ctx context.Context, s scope.Scope) (*tenantIndex[S, C], error) {
	t, err := x.pinLoaded(ctx, s)
	if err == nil && t.lost.Load() {
		x.release(t)
		return nil, x.cfg.Lost
	}
	return t, err
}

// pinLoaded is acquire also of a tenant whose snapshot could not be used.
func (x *sharedIndex[S, C]) pinLoaded(ctx context.Context, s scope.Scope) (*tenantIndex[S, C], error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := x.pinTenant(s.Tenant())
	if err != nil {
		return nil, err
	}
	t.load.Lock()
	defer t.load.Unlock()
	if !t.loaded {
		x.noteMemory(t, t.loadSnapshot())
	}
	return t, nil
}

func (x *sharedIndex[S, C]) pinTenant(name string) (*tenantIndex[S, C], error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, x.cfg.Closed
	}
	t, ok := x.tenants[name]
	if !ok {
		t = &tenantIndex[S, C]{x: x, name: name}
		x.tenants[name] = t
	}
	t.pins++
	x.active.Add(1)
	x.clock++
	t.used = x.clock
	return t, nil
}

// peekCheckpoint returns the checkpoint of a tenant that is not in memory, where its snapshot tells.
func (x *sharedIndex[S, C]) peekCheckpoint(ctx context.Context, s scope.Scope) (checkpoint int64, ok bool) {
	if s.Check() != nil || ctx.Err() != nil {
		return 0, false
	}
	x.mu.Lock()
	_, there := x.tenants[s.Tenant()]
	there = there || x.closed
	x.mu.Unlock()
	if there {
		return 0, false
	}
	return x.files.Peek(s.Tenant())
}

// noteMemory notes how much memory the tenant takes now.
func (x *sharedIndex[S, C]) noteMemory(t *tenantIndex[S, C], bytes int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.bytes += bytes - t.size
	t.size = bytes
}

// release lets the tenant be evicted again, evicts it when there is nothing of it, and others
// while memory is over its limit.
func (x *sharedIndex[S, C]) release(t *tenantIndex[S, C]) {
	defer x.active.Done()
	x.mu.Lock()
	t.pins--
	empty := t.pins == 0 && t.size == 0 && !x.closed
	x.mu.Unlock()
	if empty {
		if err := x.evictTenant(t); err != nil {
			x.cfg.OnError(t.name, err)
		}
	}
	var failed map[*tenantIndex[S, C]]bool
	for {
		oldest := x.findOldestTenant(failed)
		if oldest == nil {
			return
		}
		if err := x.evictTenant(oldest); err != nil {
			x.cfg.OnError(oldest.name, err)
			if failed == nil {
				failed = map[*tenantIndex[S, C]]bool{}
			}
			failed[oldest] = true
		}
	}
}

// findOldestTenant returns the tenant used longest ago that no one uses, when memory is short. The
// one used last stays: to load it again for every call would help no one.
func (x *sharedIndex[S, C]) findOldestTenant(failed map[*tenantIndex[S, C]]bool) (oldest *tenantIndex[S, C]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cfg.MemoryBytes == 0 || x.bytes <= x.cfg.MemoryBytes || x.closed {
		return nil
	}
	first := uint64(math.MaxUint64)
	last := uint64(0)
	for _, t := range x.tenants {
		last = max(last, t.used)
		if t.pins == 0 && t.size > 0 && t.used < first && !failed[t] {
			oldest = t
			first = t.used
		}
	}
	if first == last {
		return nil
	}
	return oldest
}

// Evict saves and forgets the scope's tenant, unless someone uses it or there are no
// snapshots. It is loaded again when it is asked for.
func (x *sharedIndex[S, C]) Evict(_ context.Context, s scope.Scope) error {
	if err := s.Check(); err != nil {
		return x.named("evict "+x.cfg.Name+"s", err)
	}
	x.mu.Lock()
	t, ok := x.tenants[s.Tenant()]
	ok = ok && !x.closed
	if ok {
		x.active.Add(1)
	}
	x.mu.Unlock()
	if !ok {
		return nil
	}
	defer x.active.Done()
	return x.named("evict "+x.cfg.Name+"s", x.evictTenant(t))
}

// evictTenant saves and forgets the tenant, unless someone has come to use it or it cannot be saved
// for want of a folder.
func (x *sharedIndex[S, C]) evictTenant(t *tenantIndex[S, C]) error {
	t.load.Lock() // whoever pins it from now on waits here
	defer t.load.Unlock()
	x.mu.Lock()
	busy := t.pins > 0 || t.size > 0 && x.files.Dir == ""
	x.mu.Unlock()
	if busy || !t.loaded {
		return nil
	}
	if err := t.evictState(); err != nil {
		return err
	}
	x.noteMemory(t, 0)
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.pins == 0 {
		delete(x.tenants, t.name)
	}
	return nil
}

// Close waits for calls under way, writes the snapshots that are not current and releases
// the memory. Further calls of Close do nothing, others fail.
func (x *sharedIndex[S, C]) Close() error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	x.mu.Unlock()
	x.active.Wait() // nothing is added to tenants any more
	var errs []error
	for _, t := range x.tenants {
		t.load.Lock()
		if t.loaded {
			errs = append(errs, t.evictState())
		}
		t.load.Unlock()
	}
	return errors.Join(errs...)
}
