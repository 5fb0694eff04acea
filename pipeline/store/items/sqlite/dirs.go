package sqlite

import (
	"context"
	"sync"
	"sync/atomic"

	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// dirs holds the directories of the tenants in use, under a cap of memory.
type dirs struct {
	limit int64
	mu    sync.Mutex
	slots map[string]*slot
	clock uint64
}

// slot is a tenant's place. apply is held while a batch commits and reaches the
// directory, so that it sees batches in order; mu guards dir and what is in it. A load
// holds mu, so that a batch that commits meanwhile is applied to it afterwards.
type slot struct {
	apply sync.Mutex
	mu    sync.RWMutex
	dir   *directory // nil: not loaded
	bytes atomic.Int64
	used  atomic.Uint64
}

func (d *dirs) slot(tenant string) *slot {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.slots[tenant]
	if !ok {
		s = &slot{}
		d.slots[tenant] = s
	}
	d.clock++
	s.used.Store(d.clock)
	return s
}

// view calls fn with the tenant's directory, loading it first if need be.
func (db *DB) view(ctx context.Context, tenant string, fn func(*directory)) error {
	s := db.dirs.slot(tenant)
	s.mu.RLock()
	if s.dir != nil {
		defer s.mu.RUnlock()
		fn(s.dir)
		return nil
	}
	s.mu.RUnlock()
	if err := db.viewLoaded(ctx, tenant, s, fn); err != nil {
		return err
	}
	db.dirs.evict(s)
	return nil
}

func (db *DB) viewLoaded(ctx context.Context, tenant string, s *slot, fn func(*directory)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == nil {
		dir, err := db.load(ctx, tenant)
		if err != nil {
			return err
		}
		s.dir = dir
		s.bytes.Store(int64(dir.bytes()))
	}
	fn(s.dir)
	return nil
}

// update brings a committed batch into the directory, if it is loaded.
func (d *dirs) update(s *slot, entries []entry, upTo int64) {
	s.mu.Lock()
	if s.dir == nil || s.dir.upTo >= upTo {
		s.mu.Unlock()
		return
	}
	for _, e := range entries {
		if e.Erased || e.Key == 0 { // an id that was erased may have come back
			s.dir.remove(e.id)
		}
		if e.Put != nil {
			s.dir.put(e.id, &e.Head, s.dir.facets.Intern(e.Head.Facets))
		}
	}
	s.dir.settle()
	s.dir.upTo = upTo
	s.bytes.Store(int64(s.dir.bytes()))
	s.mu.Unlock()
	d.evict(s)
}

func (d *dirs) forget(s *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir = nil
	s.bytes.Store(0)
}

// evict drops the directories used longest ago until the cap holds, keep apart.
func (d *dirs) evict(keep *slot) {
	for {
		victim := d.victim(keep)
		if victim == nil {
			return
		}
		d.forget(victim)
	}
}

func (d *dirs) victim(keep *slot) *slot {
	d.mu.Lock()
	defer d.mu.Unlock()
	var total int64
	var oldest *slot
	for _, s := range d.slots {
		n := s.bytes.Load()
		total += n
		if n > 0 && s != keep && (oldest == nil || s.used.Load() < oldest.used.Load()) {
			oldest = s
		}
	}
	if total <= d.limit {
		return nil
	}
	return oldest
}

// Neighbours implements items.Directory.
func (db *DB) Neighbours(ctx context.Context, tenant string, ids []string, radius int) (out map[string][]items.Neighbour, err error) {
	err = db.view(ctx, tenant, func(d *directory) { out = d.neighbours(ids, radius) })
	return out, err
}

// Recent implements items.Directory.
func (db *DB) Recent(ctx context.Context, tenant string, f schemas.Filter, limit int) (out []string, err error) {
	err = db.view(ctx, tenant, func(d *directory) { out = d.recent(d.facets.Allowed(f), limit) })
	return out, err
}

// Stats implements items.Directory.
func (db *DB) Stats(ctx context.Context, tenant string) (out items.Stats, err error) {
	err = db.view(ctx, tenant, func(d *directory) { out = d.stats() })
	return out, err
}
