// RollbackCheck remembers how far a process saw a store on a server, so that one that was
// set back to an older copy, or emptied by someone else, is noticed by the next write.

package columns

import "sync"

// RollbackCheck keeps the greatest checkpoint of each tenant. The zero value is empty. It is
// safe for concurrent use.
type RollbackCheck struct {
	mu sync.Mutex
	at map[string]int64
}

// Raise notes that a checkpoint was seen at a position.
func (c *RollbackCheck) Raise(tenant string, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[string]int64{}
	}
	c.at[tenant] = max(c.at[tenant], at)
}

// WentBack reports whether a checkpoint is before one that was seen, and which. It says so
// once: from then on the older one is what was seen.
func (c *RollbackCheck) WentBack(tenant string, at int64) (from int64, yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from = c.at[tenant]
	if at >= from {
		return from, false
	}
	c.at[tenant] = at
	return from, true
}

// Forget takes a tenant out: this process emptied its store.
func (c *RollbackCheck) Forget(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.at, tenant)
}
