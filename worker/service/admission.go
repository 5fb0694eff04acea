package service

import (
	"context"
	"sync"
)

// admission bounds how much of one kind of work goes on at a time: of one principal, of one
// tenant, and of all. It is safe for concurrent use.
type admission struct {
	principal, tenant, all int

	mu    sync.Mutex
	taken map[[2]string]int // by tenant and principal; of a tenant under no principal; of all under neither
	freed chan struct{}     // closed when a place is given back
}

func newAdmission(principal, tenant, all int) *admission {
	return &admission{principal: principal, tenant: tenant, all: all, taken: map[[2]string]int{}, freed: make(chan struct{})}
}

// tryAcquire takes a place, or returns nil and what is closed when it is worth another try. The
// caller MUST call leave once.
func (p *admission) tryAcquire(tenant, principal string) (leave func(), freed <-chan struct{}) {
	keys := [3][2]string{{tenant, principal}, {tenant}, {}}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, most := range [3]int{p.principal, p.tenant, p.all} {
		if p.taken[keys[i]] >= most {
			return nil, p.freed
		}
	}
	for _, k := range keys {
		p.taken[k]++
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, k := range keys {
			p.taken[k]--
			if p.taken[k] == 0 {
				delete(p.taken, k)
			}
		}
		close(p.freed)
		p.freed = make(chan struct{})
	}, nil
}

// acquirePlace takes a place as soon as there is one.
func (p *admission) acquirePlace(ctx context.Context, tenant, principal string) (leave func(), err error) {
	for {
		leave, freed := p.tryAcquire(tenant, principal)
		if leave != nil {
			return leave, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
