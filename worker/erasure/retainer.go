package erasure

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies/hold"
	"satchel/schemas"
)

// SourceRetention is the CloudEvents source of the erasures of a [Retainer].
const SourceRetention = "satchel://retention"

// Bounds of a run of a Retainer.
const (
	retainMost  = 1000        // items of a tenant that a run takes
	retainBatch = 256         // of them in one erasure
	retainAgain = time.Minute // until the next run, when more is due
	retainLook  = time.Second // how long a changed file may go unnoticed
)

// errMoved ends a run of a tenant that is another worker's now. That one begins a run.
var errMoved = errors.New("the tenant is another worker's")

// Retainer erases what the classes of a file keep no longer, in ordinary erasures with the reason
// retention:CLASS. What a legal hold keeps stays, and goes in the run after its release.
//
// Of several workers the owner of a tenant does it. Ownership is a hint, so a run takes the fence of the
// checkpoint "retain/TENANT" in the log: the erasures of a run that began before are not appended any more.
// The checkpoint says with which classes the tenant's last run was and when the next is due, so that a
// tenant that has come to another worker is not gone through again.
type Retainer struct {
	Eraser    *Eraser
	Retention *Retention
	Every     time.Duration // between runs
}

// Run works at once, then now and again, whenever the file has changed, and when tenants may have come to
// this worker, until ctx is done.
func (w *Retainer) Run(ctx context.Context) error {
	cfg := &w.Eraser.cfg
	tick := time.NewTicker(retainLook)
	defer tick.Stop()
	var next time.Time
	said := "" // of the file, so that one fault is logged once
	for {
		changed, err := w.Retention.Reload()
		switch {
		case err == nil && changed:
			said = ""
		case err != nil && err.Error() != said:
			cfg.Logger.Warn("the retention classes that were read before hold", "error", err)
			said = err.Error()
		}
		moved := cfg.Share.Changed() // before the tenants are looked at
		if now := time.Now(); changed || !now.Before(next) {
			if next, err = w.eraseAllDue(ctx); err != nil && ctx.Err() == nil {
				cfg.Logger.Warn("erase what retention keeps no longer", "error", err)
				next = now.Add(retainAgain)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-moved:
			next = time.Time{}
		case <-tick.C:
		}
	}
}

// eraseAllDue erases what is due of every tenant that is this worker's, and returns when to look again.
func (w *Retainer) eraseAllDue(ctx context.Context) (next time.Time, err error) {
	cfg := &w.Eraser.cfg
	next = time.Now().Add(w.Every)
	tenants, err := cfg.Log.Tenants(ctx)
	if err != nil {
		return next, err
	}
	var failed error
	for _, tenant := range tenants {
		if !cfg.Share.OwnsTenant(tenant) {
			cfg.Metrics.Held.Note(tenant, 0)
			continue
		}
		due, err := w.takeTurn(ctx, tenant)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("tenant %q: %w", tenant, err))
		} else if due.Before(next) {
			next = due
		}
	}
	return next, failed
}

// takeTurn runs for a tenant, unless it is not due because another worker has, and returns when the next run
// is due.
func (w *Retainer) takeTurn(ctx context.Context, tenant string) (due time.Time, err error) {
	cfg := &w.Eraser.cfg
	name := "retain/" + tenant
	if cfg.Share.Shared() {
		last, err := cfg.Log.Checkpoint(ctx, name)
		if err != nil {
			return due, err
		}
		due = time.Unix(int64(last.StreamSeq), 0)
		if wait := time.Until(due); last.Hash == w.Retention.sum && wait > 0 && wait <= w.Every {
			return due, nil
		}
	}
	fence, _, err := cfg.Log.TakeFence(ctx, name)
	if err != nil {
		return due, err
	}
	due = time.Now().Add(w.Every)
	more, err := w.eraseTenantDue(ctx, tenant, eventlog.Unless{Subject: name, Fence: fence})
	if errors.Is(err, errMoved) {
		return due, nil
	}
	if err != nil {
		return due, err
	}
	if more {
		due = time.Now().Add(retainAgain)
	}
	_, err = cfg.Log.Append(ctx, eventlog.Batch{Checkpoint: &eventlog.Checkpoint{Name: name, Fence: fence,
		StreamSeq: uint64(due.Unix()), Hash: w.Retention.sum}})
	if errors.Is(err, eventlog.ErrFenced) { // by the worker that has the tenant now
		return due, nil
	}
	return due, err
}

// eraseTenantDue erases what is due of a tenant and reports whether more is due. It erases nothing more once the
// tenant is another worker's.
func (w *Retainer) eraseTenantDue(ctx context.Context, tenant string, unless eventlog.Unless) (more bool, err error) {
	e := w.Eraser
	s, err := scope.System(tenant)
	if err != nil {
		return false, err
	}
	head, err := e.cfg.Log.Head(ctx, s)
	if err != nil {
		return false, err
	}
	if err := e.cfg.Indexes.Await(ctx, s, head.Size); err != nil {
		return false, err
	}
	o, err := w.Retention.Look(ctx, e.cfg.Log, s, e.cfg.Clock(), retainMost)
	if err != nil {
		return false, err
	}
	held := len(o.Held)
	byClass := map[string][]Due{}
	for _, d := range o.Due {
		byClass[d.Class] = append(byClass[d.Class], d)
	}
	for class, due := range byClass {
		erased := 0
		for part := range slices.Chunk(due, retainBatch) {
			if !e.cfg.Share.OwnsTenant(tenant) {
				return false, errMoved
			}
			gone, kept, err := e.expireItems(ctx, s, class, part, head.Size, unless)
			erased += gone
			held += kept
			if err != nil {
				return false, err
			}
		}
		if erased > 0 {
			e.cfg.Logger.Info("retention has erased items", "tenant", tenant, "class", class, "items", erased)
		}
	}
	e.cfg.Metrics.Held.Note(tenant, int64(held))
	return len(o.Due) == retainMost, nil
}

// expireItems erases items of a class, unless a hold, a new version or another run came meanwhile. It returns
// how many of them are erased, and how many a hold keeps.
func (e *Eraser) expireItems(
	ctx context.Context, s scope.Scope, class string, due []Due, searched int64, run eventlog.Unless,
) (erased, held int, err error) {
	ids := make([]string, len(due))
	unless := make([]eventlog.Unless, len(due))
	for i, d := range due {
		ids[i] = d.Item
		unless[i] = eventlog.Unless{Subject: d.Item, Type: schemas.TypeMemoryRecorded, After: d.Position}
	}
	found := Found{Searched: searched}
	if found.Items, err = e.addDerivedItems(ctx, s, ids); err != nil {
		return 0, 0, err
	}
	if found.Held, err = e.findHolds(ctx, s, found.Items); err != nil {
		return 0, 0, err
	}
	if len(found.Held.Live) > 0 {
		if len(due) == 1 {
			return 0, 1, nil
		}
		for i := range due {
			gone, kept, err := e.expireItems(ctx, s, class, due[i:i+1], searched, run)
			erased += gone
			held += kept
			if err != nil {
				return erased, held, err
			}
		}
		return erased, held, nil
	}
	found.unless = append(unless, hold.Unless(found.Held.Position), run)
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	d := eventlog.Draft{Tenant: s.Tenant(), Agent: systemAgent, Type: schemas.TypeMemoryErased, Source: SourceRetention,
		ID: fmt.Sprintf("%s.%d.%x", class, due[len(due)-1].Position, sum[:8]), Time: e.cfg.Clock().UTC()}
	req := schemas.MemoryErased{Scope: schemas.MemoryScope{Tenant: s.Tenant()}, Items: found.Items,
		Reason: "retention:" + class}
	if _, err = e.appendErasure(ctx, s, d, &req, &found); errors.Is(err, eventlog.ErrOvertaken) {
		return 0, 0, nil // the next run decides anew
	}
	if err != nil {
		return 0, 0, err
	}
	return len(due), 0, nil
}
