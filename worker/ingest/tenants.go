package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/write"
	"satchel/policies"
)

// countAgain is how long the number of tenants is believed while new ones are asked about:
// other workers begin logs as well.
const countAgain = 10 * time.Second

// beginWithin is how long a tenant that may begin counts before its log is there.
const beginWithin = time.Minute

// tenants says which tenants may be written to: those that the registry admits, and of those
// without a log as many as there may be. Safe for concurrent use.
type tenants struct {
	log      *eventlog.Log
	registry *policies.Registry // nil: admits all
	limit    int                // logs at most; 0: any number
	now      func() time.Time

	mu      sync.Mutex
	known   map[string]struct{}  // that have a log
	begins  map[string]time.Time // that may begin one, since when
	counted time.Time
}

// admitTenant returns why nothing may be written for a tenant, nil when it may, and err when that
// cannot be found out. A tenant without a log that is admitted counts from then on.
func (t *tenants) admitTenant(ctx context.Context, tenant string) (refused *write.Rejection, err error) {
	if !t.registry.Admits(tenant) {
		return &write.Rejection{Reason: write.PolicyDenied, Cause: "the principal registry does not name this tenant"}, nil
	}
	if t.limit <= 0 {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.known[tenant]; ok {
		return nil, nil
	}
	if err := t.countTenants(ctx); err != nil {
		return nil, err
	}
	exists, err := t.hasTenantLog(ctx, tenant)
	if err != nil {
		return nil, err
	}
	if exists {
		delete(t.begins, tenant)
		t.known[tenant] = struct{}{}
		return nil, nil
	}
	if _, ok := t.begins[tenant]; !ok && len(t.known)+len(t.begins) >= t.limit {
		return &write.Rejection{Reason: write.PolicyDenied, Cause: fmt.Sprintf("there are %d tenants, and no more may begin; see SATCHEL_MAX_TENANTS", t.limit)}, nil
	}
	t.begins[tenant] = t.now()
	return nil, nil
}

// countTenants reads which tenants have a log, now and then. The caller holds mu.
func (t *tenants) countTenants(ctx context.Context) error {
	now := t.now()
	if t.known != nil && now.Sub(t.counted) < countAgain && !now.Before(t.counted) {
		return nil
	}
	list, err := t.log.Tenants(ctx)
	if err != nil {
		return fmt.Errorf("list tenants: %w", err)
	}
	if t.known == nil {
		t.known = make(map[string]struct{}, len(list))
		t.begins = map[string]time.Time{}
	}
	for _, tenant := range list {
		t.known[tenant] = struct{}{}
		delete(t.begins, tenant)
	}
	for tenant, since := range t.begins {
		if now.Sub(since) > beginWithin || now.Before(since) {
			delete(t.begins, tenant)
		}
	}
	t.counted = now
	return nil
}

// hasTenantLog reports whether a tenant has a log.
func (t *tenants) hasTenantLog(ctx context.Context, tenant string) (bool, error) {
	s, err := scope.System(tenant)
	if err != nil {
		return false, err
	}
	head, err := t.log.Head(ctx, s)
	return head.Size > 0, err
}

// admitWithRetries is admit for an event of the stream, again and again while the log is away. A
// refusal is a *write.Rejection.
func (a *partitionAppender) admitWithRetries(ctx context.Context, tenant string) error {
	var refused *write.Rejection
	err := a.retry.Do(ctx, a.cfg.Logger, a.describeAppending(), func(err error) bool { return !errors.Is(err, eventlog.ErrCorrupt) }, func() (err error) {
		refused, err = a.tenants.admitTenant(ctx, tenant)
		return err
	})
	if err == nil && refused != nil {
		return refused
	}
	return err
}
