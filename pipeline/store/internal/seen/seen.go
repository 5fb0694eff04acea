// Package seen remembers how far a process saw a store on a server, so that one that was
// set back to an older copy, or emptied by somebody else, is noticed by the next write.
package seen

import "sync"

// Positions keeps the greatest checkpoint of each tenant. The zero value is empty. It is
// safe for concurrent use.
type Positions struct {
	mu sync.Mutex
	at map[string]int64
}

// Raise notes that a checkpoint was seen at a position.
func (p *Positions) Raise(tenant string, at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == nil {
		p.at = map[string]int64{}
	}
	p.at[tenant] = max(p.at[tenant], at)
}

// WentBack reports whether a checkpoint is before one that was seen, and which. It says so
// once: from then on the older one is what was seen.
func (p *Positions) WentBack(tenant string, at int64) (from int64, yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from = p.at[tenant]
	if at >= from {
		return from, false
	}
	p.at[tenant] = at
	return from, true
}

// Forget takes a tenant out: this process emptied its store.
func (p *Positions) Forget(tenant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.at, tenant)
}
