// Package resident keeps what a driver holds of each tenant in memory: loaded when it is
// first asked for, kept current by every commit, dropped again when all of them together
// take too much.
//
// It promises that a view is never older than the last commit that returned before it
// began, and that commits reach the resident value in the order in which they committed.
// Drivers may import it.
package resident

import (
	"context"
	"sync"
	"sync/atomic"
)

// Value is what is held of a tenant.
type Value interface {
	// Bytes returns about what memory the value holds.
	Bytes() int
}

// Set holds a value a tenant. Use New. It is safe for concurrent use.
type Set[V Value] struct {
	limit int64
	load  func(ctx context.Context, tenant string) (V, error)
	mu    sync.Mutex
	slots map[string]*slot[V]
	clock uint64
}

// slot is a tenant's place. commit is held while a batch commits and reaches the value;
// mu guards the value. A load holds mu, so that a batch that commits meanwhile is
// applied to what was loaded.
type slot[V Value] struct {
	commit sync.Mutex
	mu     sync.RWMutex
	value  V
	loaded bool
	bytes  atomic.Int64
	used   uint64 // guarded by Set.mu
}

// New returns a set that holds at most limit bytes, apart from the value in use. load
// reads a tenant's value as of the last commit; it may see a commit that has not reached
// the value yet, so an update MUST be a no-op on a value that holds it already.
func New[V Value](limit int64, load func(ctx context.Context, tenant string) (V, error)) *Set[V] {
	return &Set[V]{limit: limit, load: load, slots: map[string]*slot[V]{}}
}

func (s *Set[V]) slot(tenant string) *slot[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.slots[tenant]
	if !ok {
		t = &slot[V]{}
		s.slots[tenant] = t
	}
	s.clock++
	t.used = s.clock
	return t
}

// View calls fn with the tenant's value, loading it first if need be. fn MUST NOT change
// the value or keep it.
func (s *Set[V]) View(ctx context.Context, tenant string, fn func(V)) error {
	t := s.slot(tenant)
	t.mu.RLock()
	if t.loaded {
		defer t.mu.RUnlock()
		fn(t.value)
		return nil
	}
	t.mu.RUnlock()
	if err := s.viewLoaded(ctx, tenant, t, fn); err != nil {
		return err
	}
	s.evict(t)
	return nil
}

func (s *Set[V]) viewLoaded(ctx context.Context, tenant string, t *slot[V], fn func(V)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.loaded {
		v, err := s.load(ctx, tenant)
		if err != nil {
			return err
		}
		t.value, t.loaded = v, true
		t.bytes.Store(int64(v.Bytes()))
	}
	fn(t.value)
	return nil
}

// Commit calls commit, one at a time a tenant, and then the update it returned with the
// tenant's value, if that is loaded and there was no error. A nil update changes nothing.
func (s *Set[V]) Commit(tenant string, commit func() (update func(V), err error)) error {
	t := s.slot(tenant)
	t.commit.Lock()
	defer t.commit.Unlock()
	update, err := commit()
	if err != nil || update == nil {
		return err
	}
	if t.apply(update) {
		s.evict(t)
	}
	return nil
}

func (t *slot[V]) apply(update func(V)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.loaded {
		return false
	}
	update(t.value)
	t.bytes.Store(int64(t.value.Bytes()))
	return true
}

// Replace calls commit and drops the tenant's value, for what is more than an update.
func (s *Set[V]) Replace(tenant string, commit func() error) error {
	t := s.slot(tenant)
	t.commit.Lock()
	defer t.commit.Unlock()
	if err := commit(); err != nil {
		return err
	}
	t.drop()
	return nil
}

func (t *slot[V]) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	var none V
	t.value, t.loaded = none, false
	t.bytes.Store(0)
}

// Bytes returns about what memory all values hold.
func (s *Set[V]) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var total int64
	for _, t := range s.slots {
		total += t.bytes.Load()
	}
	return total
}

// evict drops the values used longest ago until the limit holds, keep apart.
func (s *Set[V]) evict(keep *slot[V]) {
	for {
		t := s.victim(keep)
		if t == nil {
			return
		}
		t.drop()
	}
}

func (s *Set[V]) victim(keep *slot[V]) *slot[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var total int64
	var oldest *slot[V]
	for _, t := range s.slots {
		n := t.bytes.Load()
		total += n
		if n > 0 && t != keep && (oldest == nil || t.used < oldest.used) {
			oldest = t
		}
	}
	if total <= s.limit {
		return nil
	}
	return oldest
}
