// Share says which part of the work is this process's, where several share it.

package follow

import (
	"satchel/worker/transport"
)

import (
	"context"
	"time"

	"satchel/pipeline/store/eventlog"
)

// Share is what this worker owns of the work: all of it without a membership. Ownership is a
// hint that keeps workers from doing the same twice. What makes two owners harmless is
// the appender's fence, the stores' checkpoints, and the ledger's expected sequence.
type Share struct{ Membership transport.Membership }

// Shared reports whether there are other workers.
func (s Share) Shared() bool { return s.Membership != nil }

// OwnsTenant reports whether this worker feeds the tenant's shared stores, relays and erases.
func (s Share) OwnsTenant(tenant string) bool {
	if s.Membership == nil {
		return true
	}
	owned, _ := s.Membership.Owned()
	at := s.Membership.Partition(tenant)
	return at < len(owned) && owned[at]
}

// Changed returns a channel that is closed when this worker may own other tenants; nil without a
// membership.
func (s Share) Changed() <-chan struct{} {
	if s.Membership == nil {
		return nil
	}
	_, changed := s.Membership.Owned()
	return changed
}

// OwnsPartition reports whether a partition is this worker's, and returns a channel that is closed when
// that may have changed.
func (s Share) OwnsPartition(partition int) (bool, <-chan struct{}) {
	owned, changed := s.Membership.Owned()
	return partition < len(owned) && owned[partition], changed
}

// checkEvery is how often every log is looked at, in case that a message about its growth
// was lost.
const checkEvery = 15 * time.Second

// NotifyGrowth has the followers look at tenants that have come to this worker, and at all of
// them now and then.
func (s Share) NotifyGrowth(ctx context.Context, log *eventlog.Log) error {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	var before []bool
	for {
		owned, changed := s.Membership.Owned()
		if tenants, err := log.Tenants(ctx); err == nil {
			for _, tenant := range tenants {
				if at := s.Membership.Partition(tenant); at < len(owned) && owned[at] && (at >= len(before) || !before[at]) {
					log.NotifyGrowth(tenant)
				}
			}
			before = owned
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-tick.C:
			before = nil
			if tenants, err := log.Tenants(ctx); err == nil {
				for _, tenant := range tenants {
					log.NotifyGrowth(tenant)
				}
			}
		}
	}
}
