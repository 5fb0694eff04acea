package projection

import (
	"cmp"
	"context"
	"slices"
	"time"

	"satchel/pipeline/scope"
)

// KeptTenants is how many tenants stay in memory however long nobody has used them: those that
// were used last.
const KeptTenants = 64

// EvictIdle puts the indexes of tenants out of memory that nobody has used for a while, through
// evict, but for the [KeptTenants] that were used last, until ctx is done. The next request of such
// a tenant, and the next entry of its log, loads them again.
func (p *Projector) EvictIdle(ctx context.Context, after time.Duration, evict []func(ctx context.Context, s scope.Scope) error) error {
	tick := time.NewTicker(min(max(after/4, 50*time.Millisecond), time.Minute))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			p.evictIdle(ctx, time.Now().Add(-after), evict)
		}
	}
}

// evictIdle puts away the tenants that were not used since a moment.
func (p *Projector) evictIdle(ctx context.Context, before time.Time, evict []func(ctx context.Context, s scope.Scope) error) {
	for _, tenant := range p.listIdleTenants(before, KeptTenants) {
		s, err := scope.System(tenant)
		if err == nil {
			err = p.putAway(ctx, s, before, evict)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.cfg.Logger.WarnContext(ctx, "put tenant out of memory", "tenant", tenant, "error", err)
		}
	}
}

// listIdleTenants lists the tenants that may be in memory and were not used since a moment, but for the
// keep that were used last.
func (p *Projector) listIdleTenants(since time.Time, keep int) []string {
	type use struct {
		tenant string
		at     int64
	}
	p.mu.Lock()
	uses := make([]use, 0, len(p.tenants))
	for name, t := range p.tenants {
		if t.position != unknown {
			uses = append(uses, use{name, t.used.Load()})
		}
	}
	p.mu.Unlock()
	slices.SortFunc(uses, func(a, b use) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.tenant, b.tenant)) })
	var idle []string
	for _, u := range uses[min(keep, len(uses)):] {
		if u.at < since.UnixNano() {
			idle = append(idle, u.tenant)
		}
	}
	return idle
}

// putAway puts a tenant's indexes out of memory, unless it was used since a moment or is
// projected just now. Its next request waits until they are known to have what the log has.
func (p *Projector) putAway(ctx context.Context, s scope.Scope, since time.Time, evict []func(context.Context, scope.Scope) error) error {
	p.mu.Lock()
	t := p.tenants[s.Tenant()]
	p.mu.Unlock()
	if t == nil {
		return nil
	}
	select {
	case t.run <- struct{}{}:
	default:
		return nil
	}
	defer t.releaseRun()
	p.mu.Lock()
	used := t.used.Load() >= since.UnixNano()
	if !used {
		p.markStale(s.Tenant(), t)
		t.advancePosition(unknown, unknown)
	}
	p.mu.Unlock()
	if used {
		return nil
	}
	for _, one := range evict {
		if err := one(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
