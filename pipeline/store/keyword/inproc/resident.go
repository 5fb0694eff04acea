package inproc

import (
	"context"
	"errors"
	"math"
	"sync"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
)

// resident is a tenant that is loaded, or about to be. It is loaded or evicted under
// load, by whoever finds it so; pins says how many calls use it.
type resident struct {
	name string
	load sync.Mutex
	tenant

	changed, saved int   // changes since it was loaded, and those the snapshot has; under write
	durable        int64 // checkpoint of the snapshot on disk, 0 for none
	analyzers      []keyword.Analyzer

	pins int    // under Index.mu, as the rest
	used uint64 // Index.clock when it was last acquired
	size int64
}

// acquire returns the scope's tenant, loaded and kept loaded until release.
func (x *Index) acquire(ctx context.Context, s scope.Scope) (*resident, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := x.pin(s.Tenant())
	if err != nil {
		return nil, err
	}
	r.load.Lock()
	defer r.load.Unlock()
	if r.state == nil {
		st, err := x.readSnapshot(r.name)
		if err != nil {
			x.cfg.OnError(r.name, err)
			st = newState()
		}
		r.state, r.durable, r.changed, r.saved = st, st.checkpoint, 0, 0
		x.account(r, st.bytes())
	}
	return r, nil
}

func (x *Index) pin(name string) (*resident, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, ErrClosed
	}
	r := x.tenants[name]
	if r == nil {
		r = &resident{name: name}
		x.tenants[name] = r
	}
	r.pins++
	x.active.Add(1)
	x.clock++
	r.used = x.clock
	return r, nil
}

// account notes how much memory r takes now.
func (x *Index) account(r *resident, size int64) {
	x.mu.Lock()
	x.bytes += size - r.size
	r.size = size
	x.mu.Unlock()
}

// release lets r be evicted again, and evicts while memory is over its limit.
func (x *Index) release(r *resident) {
	defer x.active.Done()
	x.mu.Lock()
	r.pins--
	x.mu.Unlock()
	tried := map[*resident]bool(nil)
	for {
		victim := x.victim(tried)
		if victim == nil {
			return
		}
		if err := x.evict(victim); err != nil {
			x.cfg.OnError(victim.name, err)
			if tried == nil {
				tried = map[*resident]bool{}
			}
			tried[victim] = true
		}
	}
}

// victim returns the tenant used longest ago that nobody uses, when memory is short. The
// one used last stays: to load it again for every call would help nobody.
func (x *Index) victim(tried map[*resident]bool) *resident {
	if x.cfg.MemoryBytes == 0 || x.cfg.Dir == "" {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.bytes <= x.cfg.MemoryBytes || x.closed {
		return nil
	}
	var oldest *resident
	at, newest := uint64(math.MaxUint64), uint64(0)
	for _, r := range x.tenants {
		newest = max(newest, r.used)
		if r.pins == 0 && r.size > 0 && r.used < at && !tried[r] {
			oldest, at = r, r.used
		}
	}
	if at == newest {
		return nil
	}
	return oldest
}

// evict writes r's snapshot and forgets it, unless somebody has come to use it.
func (x *Index) evict(r *resident) error {
	r.load.Lock() // whoever pins r from now on waits here
	defer r.load.Unlock()
	x.mu.Lock()
	busy := r.pins > 0
	x.mu.Unlock()
	if busy || r.state == nil {
		return nil
	}
	r.write.Lock()
	defer r.write.Unlock()
	if err := r.save(x); err != nil {
		return err
	}
	r.state, r.analyzers = nil, nil
	x.account(r, 0)
	x.mu.Lock()
	if r.pins == 0 {
		delete(x.tenants, r.name)
	}
	x.mu.Unlock()
	return nil
}

// Close waits for calls under way, writes the snapshots that are not current and
// releases the memory. Further calls return ErrClosed.
func (x *Index) Close() error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	all := make([]*resident, 0, len(x.tenants))
	for _, r := range x.tenants {
		all = append(all, r)
	}
	x.mu.Unlock()
	x.active.Wait()
	var errs []error
	for _, r := range all {
		errs = append(errs, x.finish(r))
	}
	return errors.Join(errs...)
}

func (x *Index) finish(r *resident) error {
	r.load.Lock()
	defer r.load.Unlock()
	if r.state == nil {
		return nil
	}
	if err := r.save(x); err != nil {
		return err
	}
	r.state, r.analyzers = nil, nil
	return nil
}
