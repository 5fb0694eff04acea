package eventlog

import (
	"context"
	"sync"
)

// known are tenants that have a log, which none ever loses. Safe for concurrent use.
type known struct {
	mu      sync.RWMutex
	tenants map[string]struct{}
}

const maxKnown = 1 << 16

func (k *known) hasTenant(tenant string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.tenants[tenant]
	return ok
}

func (k *known) noteTenant(tenant string) {
	if k.hasTenant(tenant) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tenants == nil || len(k.tenants) >= maxKnown {
		k.tenants = map[string]struct{}{}
	}
	k.tenants[tenant] = struct{}{}
}

// hasTenantLog reports whether the tenant has a log.
func (l *Log) hasTenantLog(ctx context.Context, tenant string) (bool, error) {
	if l.known.hasTenant(tenant) {
		return true, nil
	}
	head, err := view(ctx, l.driver, func(r Reader) (Head, error) { return r.Head(tenant) })
	if err != nil || head.Size == 0 {
		return false, err
	}
	l.known.noteTenant(tenant)
	return true, nil
}

// makeAbsentOutcomes are the outcomes of n drafts for a tenant without a log.
func makeAbsentOutcomes(n int) []Outcome {
	outcomes := make([]Outcome, n)
	for i := range outcomes {
		outcomes[i].Status = Absent
	}
	return outcomes
}

// Answers is a Log as those write to it that record what a tenant was answered: every batch is
// Existing, so that a question begins no log.
type Answers struct{ *Log }

// Append commits the batch unless its tenant has no log. See [Log.Append].
func (a Answers) Append(ctx context.Context, b Batch) ([]Outcome, error) {
	b.Existing = true
	return a.Log.Append(ctx, b)
}
