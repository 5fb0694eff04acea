package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// share is what this worker owns of the work: all of it without a membership. Ownership is a
// hint that keeps workers from doing the same twice. What makes two owners harmless is
// the appender's fence, the stores' checkpoints, and the ledger's expected sequence.
type share struct{ membership Membership }

func (s share) shared() bool { return s.membership != nil }

// owns reports whether this worker feeds the tenant's shared stores, relays and erases.
func (s share) owns(tenant string) bool {
	if s.membership == nil {
		return true
	}
	owned, _ := s.membership.Owned()
	at := s.membership.Partition(tenant)
	return at < len(owned) && owned[at]
}

func (s share) has(partition int) (bool, <-chan struct{}) {
	owned, changed := s.membership.Owned()
	return partition < len(owned) && owned[partition], changed
}

// lookAgain is how often every log is looked at, in case that a message about its growth
// was lost.
const lookAgain = 15 * time.Second

// rouse has the followers look at tenants that have come to this worker, and at all of
// them now and then.
func (s share) rouse(ctx context.Context, log *eventlog.Log) error {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	var before []bool
	for {
		owned, changed := s.membership.Owned()
		if tenants, err := log.Tenants(ctx); err == nil {
			for _, tenant := range tenants {
				if at := s.membership.Partition(tenant); at < len(owned) && owned[at] && (at >= len(before) || !before[at]) {
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

// fencedBackoff is how long an appender that was fenced leaves the partition to who fenced it.
const fencedBackoff = 300 * time.Millisecond

// checkAgain is how often a worker checks whether the partitions of others can be read.
const checkAgain = 10 * time.Second

// serve runs the appender whenever the partition is this worker's, until ctx is done.
func (a *appender) serve(ctx context.Context) error {
	if !a.share.shared() {
		return a.run(ctx)
	}
	again := time.NewTicker(checkAgain)
	defer again.Stop()
	for ctx.Err() == nil {
		mine, changed := a.share.has(a.partition)
		if !mine {
			a.resumed.Store(false)
			a.look(ctx)
			select {
			case <-ctx.Done():
			case <-changed:
			case <-again.C:
			}
			continue
		}
		err := a.tenure(ctx)
		a.resumed.Store(false)
		a.inbox.Rest()
		switch {
		case errors.Is(err, eventlog.ErrFenced):
			a.logger.InfoContext(ctx, "another worker has taken the partition", "partition", a.inbox.Name())
			if err := pause(ctx, fencedBackoff); err != nil {
				return nil
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// tenure runs the appender until the partition is another's.
func (a *appender) tenure(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			mine, changed := a.share.has(a.partition)
			if !mine {
				end()
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}()
	err := a.run(ctx)
	end()
	<-watched
	return err
}

// awaitShared waits until the shared stores have applied position, whoever feeds them.
func (p *Projector) awaitShared(ctx context.Context, s scope.Scope, position int64) error {
	if !p.share.shared() {
		return nil
	}
	const first, longest = 2 * time.Millisecond, 50 * time.Millisecond
	for _, one := range p.targets.Load().sharedTargets() {
		for delay := first; ; delay = min(2*delay, longest) {
			at, err := one.checkpoint(ctx, s)
			if err != nil {
				return fmt.Errorf("%w of %s: %w", errAway, one.name, err)
			}
			if at >= position {
				break
			}
			if err := pause(ctx, delay); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteErased keeps the erasures among entries that the tenant's owner carries out.
func (p *Projector) noteErased(t *progress, tenant string, entries []eventlog.Entry) {
	if p.echo == nil || p.share.owns(tenant) {
		return
	}
	for i := range entries {
		var er schemas.MemoryErased
		if e := &entries[i]; e.Type == schemas.TypeMemoryErased && !e.Erased && json.Unmarshal(e.Data, &er) == nil && er.Receipt == nil {
			t.erased = append(t.erased, begunBy(e, &er))
		}
	}
}

func (p *Projector) sendEcho(ctx context.Context, s scope.Scope, t *progress) error {
	if len(t.erased) == 0 {
		return nil
	}
	if err := p.echo(ctx, s, t.erased); err != nil {
		return err
	}
	t.erased = nil
	return nil
}

// echo is this worker's part of erasures that another one carries out: requests that
// searched here before are let finish, their packs and summaries go, and what this worker
// keeps for itself is scrubbed. Its own list of erasures gets them, too.
func (e *eraser) echo(ctx context.Context, s scope.Scope, erased []begun) error {
	if err := e.requests.pass(ctx); err != nil {
		return err
	}
	if _, err := e.eraseLate(ctx, s, erased); err != nil {
		return err
	}
	var items []string
	for _, one := range erased {
		items = append(items, one.items...)
	}
	showing, err := e.packs(ctx, s, items)
	if err != nil {
		return err
	}
	for _, one := range erased {
		p, err := e.plan(ctx, s, one.items, showing, one.position)
		if err != nil {
			return err
		}
		if _, err := e.log.EraseAttachments(ctx, s, p.packs); err != nil {
			return fmt.Errorf("erase packs: %w", err)
		}
	}
	e.changes.forget(s.Tenant())
	for _, sc := range e.scrubbers {
		if sc.Shared {
			continue
		}
		if err := sc.Scrub(ctx, s); err != nil {
			return fmt.Errorf("scrub %s: %w", sc.Store, err)
		}
	}
	kept := make([]eventlog.KeptErasure, len(erased))
	for i := range erased {
		kept[i] = erased[i].kept
	}
	return e.log.KeepErasures(s, kept)
}
