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

// Retainer erases what the classes of a file keep no longer, in ordinary erasures with the reason
// retention:CLASS. Of several workers the owner of a tenant does it. What a legal hold keeps stays, and
// goes in the run after its release.
type Retainer struct {
	Eraser    *Eraser
	Retention *Retention
	Every     time.Duration // between runs
}

// Run works at once, then now and again and whenever the file has changed, until ctx is done.
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
		if now := time.Now(); changed || !now.Before(next) {
			next = now.Add(w.Every)
			more, err := w.all(ctx)
			if err != nil && ctx.Err() == nil {
				cfg.Logger.Warn("erase what retention keeps no longer", "error", err)
			}
			if more || err != nil {
				next = now.Add(retainAgain)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// all erases what is due of every tenant that is this worker's, and reports whether more is due.
func (w *Retainer) all(ctx context.Context) (more bool, err error) {
	cfg := &w.Eraser.cfg
	tenants, err := cfg.Log.Tenants(ctx)
	if err != nil {
		return false, err
	}
	var failed error
	for _, tenant := range tenants {
		if !cfg.Share.Owns(tenant) {
			cfg.Metrics.Held.Note(tenant, 0)
			continue
		}
		rest, held, err := w.tenant(ctx, tenant)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("tenant %q: %w", tenant, err))
		}
		cfg.Metrics.Held.Note(tenant, int64(held))
		more = more || rest
	}
	return more, failed
}

func (w *Retainer) tenant(ctx context.Context, tenant string) (more bool, held int, err error) {
	e := w.Eraser
	s, err := scope.System(tenant)
	if err != nil {
		return false, 0, err
	}
	head, err := e.cfg.Log.Head(ctx, s)
	if err != nil {
		return false, 0, err
	}
	if err := e.cfg.Indexes.Await(ctx, s, head.Size); err != nil {
		return false, 0, err
	}
	now := e.cfg.Clock()
	o, err := w.Retention.Look(ctx, e.cfg.Log, s, now, retainMost)
	if err != nil {
		return false, 0, err
	}
	held = len(o.Held)
	byClass := map[string][]Due{}
	for _, d := range o.Due {
		byClass[d.Class] = append(byClass[d.Class], d)
	}
	for class, due := range byClass {
		erased := 0
		for part := range slices.Chunk(due, retainBatch) {
			gone, kept, err := e.expire(ctx, s, class, part, head.Size)
			erased += gone
			if held += kept; err != nil {
				return false, held, err
			}
		}
		if erased > 0 {
			e.cfg.Logger.Info("retention has erased items", "tenant", tenant, "class", class, "items", erased)
		}
	}
	return len(o.Due) == retainMost, held, nil
}

// expire erases items of a class, unless a hold or a new version came meanwhile. It returns how many
// of them are erased, and how many a hold keeps.
func (e *Eraser) expire(ctx context.Context, s scope.Scope, class string, due []Due, searched int64) (
	erased, held int, err error,
) {
	ids, unless := make([]string, len(due)), make([]eventlog.Unless, len(due))
	for i, d := range due {
		ids[i], unless[i] = d.Item, eventlog.Unless{Subject: d.Item, Type: schemas.TypeMemoryRecorded, After: d.Position}
	}
	found := Found{Searched: searched}
	if found.Items, err = e.derived(ctx, s, ids); err != nil {
		return 0, 0, err
	}
	if found.Held, err = e.held(ctx, s, found.Items); err != nil {
		return 0, 0, err
	}
	if len(found.Held.Live) > 0 {
		if len(due) == 1 {
			return 0, 1, nil
		}
		for i := range due {
			gone, kept, err := e.expire(ctx, s, class, due[i:i+1], searched)
			erased += gone
			if held += kept; err != nil {
				return erased, held, err
			}
		}
		return erased, held, nil
	}
	found.unless = append(unless, hold.Unless(found.Held.Position))
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	d := eventlog.Draft{Tenant: s.Tenant(), Agent: systemAgent, Type: schemas.TypeMemoryErased, Source: SourceRetention,
		ID: fmt.Sprintf("%s.%d.%x", class, due[len(due)-1].Position, sum[:8]), Time: e.cfg.Clock().UTC()}
	req := schemas.MemoryErased{Scope: schemas.MemoryScope{Tenant: s.Tenant()}, Items: found.Items,
		Reason: "retention:" + class}
	if _, err = e.append(ctx, s, d, &req, &found); errors.Is(err, eventlog.ErrOvertaken) {
		return 0, 0, nil // the next run decides anew
	}
	if err != nil {
		return 0, 0, err
	}
	return len(due), 0, nil
}
