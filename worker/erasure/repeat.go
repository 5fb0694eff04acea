package erasure

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// RepeatLost repeats the erasures that the tenant's list has and the log lost, because it was
// restored from an older copy. Each becomes an entry that names its original, and the content goes
// in the same transaction. A worker finishes them like any other erasure. RepeatLost returns how
// many there were. The caller MUST call it before anything is served, and MUST rebuild the tenant's
// indexes when there were some.
//
// It returns ErrCorrupt for a damaged list. It cuts off a torn record, and logs that.
func RepeatLost(ctx context.Context, log *eventlog.Log, s scope.Scope, now func() time.Time, logger *slog.Logger) (int, error) {
	cut, err := log.MendErasures(s)
	if err != nil {
		return 0, err
	}
	if cut > 0 {
		logger.WarnContext(ctx, "the list of erasures ended in a torn record, which was cut off", "tenant", s.Tenant(), "bytes", cut)
	}
	lost, err := log.LostErasures(ctx, s)
	if err != nil {
		return 0, err
	}
	if now == nil {
		now = time.Now
	}
	e := &Eraser{cfg: Config{Log: log, Clock: now, Failpoint: func(string) {}}}
	for i := range lost {
		if err := e.repeatErasure(ctx, s, &lost[i]); err != nil {
			return i, fmt.Errorf("erase again what position %d erased: %w", lost[i].Position, err)
		}
	}
	if len(lost) > 0 {
		logger.WarnContext(ctx, "the log was restored from a copy that is older than erasures: they were repeated", "tenant", s.Tenant(), "erasures", len(lost))
	}
	return len(lost), nil
}

// repeatErasure logs a lost erasure. Position 0 counts as searched, so that finishing the erasure finds
// every summary of the items in the log. Another worker may log the same erasure.
func (e *Eraser) repeatErasure(ctx context.Context, s scope.Scope, lost *eventlog.LostErasure) error {
	req := schemas.MemoryErased{Scope: schemas.MemoryScope{Tenant: s.Tenant()}, Items: lost.Items,
		Original: &schemas.ErasureOriginal{Source: lost.Source, ID: lost.ID, Position: lost.Position, Leaf: lost.Leaf}}
	d := eventlog.Draft{Tenant: s.Tenant(), Agent: systemAgent, Type: schemas.TypeMemoryErased, Source: lost.Source, ID: lost.FreeID, Time: e.cfg.Clock().UTC()}
	done, err := e.appendErasure(ctx, s, d, &req, &Found{})
	if err != nil || done.Status == eventlog.Appended || done.Status == eventlog.Duplicate {
		return err
	}
	left, err := e.cfg.Log.LostErasures(ctx, s)
	if err != nil {
		return err
	}
	for i := range left {
		if left[i].Source == lost.Source && left[i].ID == lost.ID && left[i].FreeID != lost.FreeID {
			return e.repeatErasure(ctx, s, &left[i])
		}
	}
	return nil
}
