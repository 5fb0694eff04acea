package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Snapshot is the log position that a request sees.
type Snapshot struct {
	AsOf     int64 // of the items store, or as_of where that is lower
	InFuture bool  // as_of is beyond what is recorded
	Notes    Notes
}

// await waits until the indexes have applied min_position and reads the position that is
// searched.
func (e *Engine) await(ctx context.Context, rec *Recorder, req Request) (Snapshot, error) {
	if req.Options.MinPosition > 0 {
		err := rec.Stage(ctx, "await", func(ctx context.Context) error {
			return e.indexed(ctx, req.Scope, req.Options.MinPosition)
		})
		if err != nil {
			return Snapshot{}, err
		}
	}
	at, err := e.cfg.Items.Checkpoint(ctx, req.Scope)
	switch {
	case err != nil && ctx.Err() != nil:
		return Snapshot{}, fmt.Errorf("read checkpoint: %w", ctx.Err())
	case err != nil:
		return Snapshot{}, storageError("the items store did not answer")
	}
	out := Snapshot{AsOf: at, InFuture: req.Options.AsOf > at, Notes: req.Notes}
	if req.Options.AsOf > 0 {
		out.AsOf = min(at, req.Options.AsOf)
	}
	if out.InFuture {
		out.Notes = out.Notes.With("as_of is beyond what is recorded: the request is about now")
	}
	return out, nil
}

// pollEvery is how often the stores are asked for their checkpoints while a request waits.
const pollEvery = 2 * time.Millisecond

func (e *Engine) indexed(ctx context.Context, s scope.Scope, position int64) error {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Wait)
	defer cancel()
	late := &schemas.Error{
		Code: schemas.CodeDeadlineExceeded, Field: "/payload/min_position", Message: "the indexes are not there yet",
	}
	if e.cfg.Indexed != nil {
		err := e.cfg.Indexed.Await(ctx, s, position)
		if err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)) {
			return late
		}
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !e.applied(ctx, s, position) {
		select {
		case <-ctx.Done():
			return late
		case <-tick.C:
		}
	}
	return nil
}

// applied reports whether every store has applied the position.
func (e *Engine) applied(ctx context.Context, s scope.Scope, position int64) bool {
	for _, store := range e.checkpoints() {
		if at, err := store.Checkpoint(ctx, s); err != nil || at < position {
			return false
		}
	}
	return true
}
