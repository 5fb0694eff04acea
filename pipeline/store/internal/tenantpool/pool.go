// Package tenantpool keeps the tenants of an in-process index in memory: each is loaded
// when it is first asked for, stays while a call uses it, and is put away, the one used
// longest ago first, when all of them together take too much.
//
// It promises that a tenant is loaded once however many ask at a time, and that none is
// put away while it is in use. Drivers may import it.
package tenantpool

import (
	"context"
	"errors"
	"math"
	"sync"

	"satchel/pipeline/scope"
)

// Tenant is what a Pool keeps: a driver's type that embeds [Slot]. The pool calls its
// methods one at a time for each tenant.
type Tenant interface {
	Loaded() bool
	Load() (bytes int64) // reads it, or begins it anew
	PutAway() error      // saves and drops what is loaded; when it fails, all is as before
	Place() *Slot
}

// Slot is a tenant's place in the pool; a driver's type embeds it.
type Slot struct {
	name string
	load sync.Mutex // held while it is loaded or put away

	pins int    // calls that use it; under Pool.mu, as the rest
	used uint64 // Pool.clock when it was last acquired
	size int64
}

// Place is the tenant's slot.
func (s *Slot) Place() *Slot { return s }

// Tenant is the tenant's name.
func (s *Slot) Tenant() string { return s.name }

// Config of a Pool.
type Config[T Tenant] struct {
	New         func() T
	MemoryBytes int64                          // beyond which tenants are put away; 0: never
	OnError     func(tenant string, err error) // told why a tenant could not be put away
	Closed      error                          // what Acquire returns after Close
}

// Pool keeps tenants. Use New. It is safe for concurrent use.
type Pool[T Tenant] struct {
	cfg Config[T]

	mu      sync.Mutex
	tenants map[string]T
	bytes   int64 // of every loaded tenant
	clock   uint64
	closed  bool
	active  sync.WaitGroup // calls between Acquire and Release
}

// New returns an empty pool.
func New[T Tenant](cfg Config[T]) *Pool[T] { return &Pool[T]{cfg: cfg, tenants: map[string]T{}} }

// Acquire returns the scope's tenant, loaded and kept so until Release, which the caller
// MUST call.
func (p *Pool[T]) Acquire(ctx context.Context, s scope.Scope) (T, error) {
	var none T
	if err := s.Check(); err != nil {
		return none, err
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	t, err := p.pin(s.Tenant())
	if err != nil {
		return none, err
	}
	at := t.Place()
	at.load.Lock()
	defer at.load.Unlock()
	if !t.Loaded() {
		p.Account(t, t.Load())
	}
	return t, nil
}

func (p *Pool[T]) pin(name string) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		var none T
		return none, p.cfg.Closed
	}
	t, ok := p.tenants[name]
	if !ok {
		t = p.cfg.New()
		t.Place().name = name
		p.tenants[name] = t
	}
	at := t.Place()
	at.pins++
	p.active.Add(1)
	p.clock++
	at.used = p.clock
	return t, nil
}

// Account notes how much memory the tenant takes now.
func (p *Pool[T]) Account(t T, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := t.Place()
	p.bytes += bytes - at.size
	at.size = bytes
}

// Release lets the tenant be put away again, and puts tenants away while memory is over
// its limit.
func (p *Pool[T]) Release(t T) {
	defer p.active.Done()
	p.mu.Lock()
	t.Place().pins--
	p.mu.Unlock()
	var failed map[*Slot]bool
	for {
		oldest, ok := p.oldest(failed)
		if !ok {
			return
		}
		if err := p.putAway(oldest); err != nil {
			p.cfg.OnError(oldest.Place().name, err)
			if failed == nil {
				failed = map[*Slot]bool{}
			}
			failed[oldest.Place()] = true
		}
	}
}

// oldest returns the tenant used longest ago that nobody uses, when memory is short. The
// one used last stays: to load it again for every call would help nobody.
func (p *Pool[T]) oldest(failed map[*Slot]bool) (oldest T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cfg.MemoryBytes == 0 || p.bytes <= p.cfg.MemoryBytes || p.closed {
		return oldest, false
	}
	first, last := uint64(math.MaxUint64), uint64(0)
	for _, t := range p.tenants {
		at := t.Place()
		last = max(last, at.used)
		if at.pins == 0 && at.size > 0 && at.used < first && !failed[at] {
			oldest, first, ok = t, at.used, true
		}
	}
	return oldest, ok && first != last
}

// putAway saves and forgets the tenant, unless somebody has come to use it.
func (p *Pool[T]) putAway(t T) error {
	at := t.Place()
	at.load.Lock() // whoever pins it from now on waits here
	defer at.load.Unlock()
	p.mu.Lock()
	busy := at.pins > 0
	p.mu.Unlock()
	if busy || !t.Loaded() {
		return nil
	}
	if err := t.PutAway(); err != nil {
		return err
	}
	p.Account(t, 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.pins == 0 {
		delete(p.tenants, at.name)
	}
	return nil
}

// Close waits for calls under way and puts every tenant away. Further calls of Acquire
// fail; further calls of Close do nothing.
func (p *Pool[T]) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()
	p.active.Wait() // nothing is added to tenants any more
	var errs []error
	for _, t := range p.tenants {
		at := t.Place()
		at.load.Lock()
		if t.Loaded() {
			errs = append(errs, t.PutAway())
		}
		at.load.Unlock()
	}
	return errors.Join(errs...)
}
