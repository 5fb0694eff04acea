package sqlite

import (
	"context"
	"sync"
	"sync/atomic"
)

// Value is what a TenantCache holds of a tenant.
type Value interface {
	// Bytes returns about what memory the value holds; 0: it is empty, and need not be kept.
	Bytes() int
}

// TenantCache holds a value a tenant: loaded when it is first asked for, kept current by
// every commit, evicted by Drop and when all of them together take too much. A tenant of
// which there is nothing takes no place. A view is never older than the last commit that
// returned before it began, and commits reach the value in the order in which they
// committed. Use NewTenantCache. It is safe for concurrent use.
type TenantCache[V Value] struct {
	limit int64
	load  func(ctx context.Context, tenant string) (V, error)
	total atomic.Int64 // bytes of all values
	mu    sync.Mutex
	slots map[string]*slot[V] // of tenants whose value is loaded or in use
	clock uint64
}

// slot is a tenant's place. commit is held while a batch commits and reaches the value;
// mu guards the value. A load holds mu, so that a batch that commits meanwhile is
// applied to what was loaded.
type slot[V Value] struct {
	tenant string
	commit sync.Mutex
	mu     sync.RWMutex
	value  V
	bytes  atomic.Int64
	loaded atomic.Bool // written under mu
	used   uint64      // guarded by TenantCache.mu, as users
	users  int         // calls that have the slot
}

// NewTenantCache returns a cache that holds at most limit bytes, apart from the value in use. load
// reads a tenant's value as of the last commit; it may see a commit that has not reached
// the value yet, so an update MUST be a no-op on a value that holds it already.
func NewTenantCache[V Value](limit int64, load func(ctx context.Context, tenant string) (V, error)) *TenantCache[V] {
	return &TenantCache[V]{limit: limit, load: load, slots: map[string]*slot[V]{}}
}

// enterSlot returns the tenant's slot, which the caller MUST leave.
func (c *TenantCache[V]) enterSlot(tenant string) *slot[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.slots[tenant]
	if !ok {
		t = &slot[V]{tenant: tenant}
		c.slots[tenant] = t
	}
	c.clock++
	t.used = c.clock
	t.users++
	return t
}

func (c *TenantCache[V]) leaveSlot(t *slot[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.users--
	if t.users == 0 && !t.loaded.Load() {
		delete(c.slots, t.tenant)
	}
}

// View calls fn with the tenant's value, loading it first if need be. fn MUST NOT change
// the value or keep it.
func (c *TenantCache[V]) View(ctx context.Context, tenant string, fn func(V)) error {
	t := c.enterSlot(tenant)
	defer c.leaveSlot(t)
	if c.viewLoadedValue(t, fn) {
		return nil
	}
	if err := c.viewLoaded(ctx, t, fn); err != nil {
		return err
	}
	c.evictOldest(t)
	return nil
}

// viewLoadedValue calls fn when the value is loaded.
func (c *TenantCache[V]) viewLoadedValue(t *slot[V], fn func(V)) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !t.loaded.Load() {
		return false
	}
	fn(t.value)
	return true
}

func (c *TenantCache[V]) viewLoaded(ctx context.Context, t *slot[V], fn func(V)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loaded.Load() {
		fn(t.value)
		return nil
	}
	v, err := c.load(ctx, t.tenant)
	if err != nil {
		return err
	}
	if n := v.Bytes(); n > 0 {
		t.value = v
		t.loaded.Store(true)
		c.noteSlotMemory(t, n)
	}
	fn(v)
	return nil
}

// noteSlotMemory notes how much memory the value of a slot takes. The caller holds its mu.
func (c *TenantCache[V]) noteSlotMemory(t *slot[V], bytes int) {
	c.total.Add(int64(bytes) - t.bytes.Swap(int64(bytes)))
}

// Commit calls commit, one at a time a tenant, and then the update it returned with the
// tenant's value, if that is loaded and there was no error. A nil update changes nothing.
func (c *TenantCache[V]) Commit(tenant string, commit func() (update func(V), err error)) error {
	t := c.enterSlot(tenant)
	defer c.leaveSlot(t)
	t.commit.Lock()
	defer t.commit.Unlock()
	update, err := commit()
	if err != nil || update == nil {
		return err
	}
	if c.updateSlot(t, update) {
		c.evictOldest(t)
	}
	return nil
}

func (c *TenantCache[V]) updateSlot(t *slot[V], update func(V)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.loaded.Load() {
		return false
	}
	update(t.value)
	c.noteSlotMemory(t, t.value.Bytes())
	return true
}

// Replace calls commit and drops the tenant's value, for what is more than an update.
func (c *TenantCache[V]) Replace(tenant string, commit func() error) error {
	t := c.enterSlot(tenant)
	defer c.leaveSlot(t)
	t.commit.Lock()
	defer t.commit.Unlock()
	if err := commit(); err != nil {
		return err
	}
	c.dropSlotValue(t)
	return nil
}

// Drop puts a tenant's value out of memory; it is loaded again when it is asked for.
func (c *TenantCache[V]) Drop(tenant string) {
	t := c.enterSlot(tenant)
	defer c.leaveSlot(t)
	c.dropSlotValue(t)
}

func (c *TenantCache[V]) dropSlotValue(t *slot[V]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var none V
	t.value = none
	t.loaded.Store(false)
	c.noteSlotMemory(t, 0)
}

// Bytes returns about what memory all values hold.
func (c *TenantCache[V]) Bytes() int64 { return c.total.Load() }

// evictOldest drops the values used longest ago until the limit holds, keep apart.
func (c *TenantCache[V]) evictOldest(keep *slot[V]) {
	for c.total.Load() > c.limit {
		t := c.enterOldestSlot(keep)
		if t == nil {
			return
		}
		c.dropSlotValue(t)
		c.leaveSlot(t)
	}
}

// enterOldestSlot enters the slot of the value used longest ago, keep apart; nil when there is none.
func (c *TenantCache[V]) enterOldestSlot(keep *slot[V]) *slot[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	var oldest *slot[V]
	for _, t := range c.slots {
		if t.loaded.Load() && t != keep && (oldest == nil || t.used < oldest.used) {
			oldest = t
		}
	}
	if oldest != nil {
		oldest.users++
	}
	return oldest
}
