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

// Awaiting waits for the indexes.
type Awaiting struct {
	Stores
	wait time.Duration
}

// snapshot waits until the indexes have applied min_position and reads the position that is
// searched.
func (a *Awaiting) snapshot(ctx context.Context, rec *Recorder, req Request) (Snapshot, error) {
	if req.Options.MinPosition > 0 {
		err := rec.Stage(ctx, "await", func(ctx context.Context) error {
			return a.indexed(ctx, req.Scope, req.Options.MinPosition)
		})
		if err != nil {
			return Snapshot{}, err
		}
	}
	at, err := a.Items.Checkpoint(ctx, req.Scope)
	switch {
	case err != nil && ctx.Err() != nil:
		return Snapshot{}, fmt.Errorf("read checkpoint: %w", ctx.Err())
	case err != nil:
		return Snapshot{}, StorageError("the items store did not answer")
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

func (a *Awaiting) indexed(ctx context.Context, s scope.Scope, position int64) error {
	ctx, cancel := context.WithTimeout(ctx, a.wait)
	defer cancel()
	late := &schemas.Error{
		Code: schemas.CodeDeadlineExceeded, Field: "/payload/min_position", Message: "the indexes are not there yet",
	}
	if a.Indexed != nil {
		err := a.Indexed.Await(ctx, s, position)
		if err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)) {
			return late
		}
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !a.applied(ctx, s, position) {
		select {
		case <-ctx.Done():
			return late
		case <-tick.C:
		}
	}
	return nil
}

// applied reports whether every store has applied the position.
func (a *Awaiting) applied(ctx context.Context, s scope.Scope, position int64) bool {
	for _, store := range a.Checkpoints() {
		if at, err := store.Checkpoint(ctx, s); err != nil || at < position {
			return false
		}
	}
	return true
}

// Checkpointer says up to which log position a store has everything.
type Checkpointer interface {
	Checkpoint(ctx context.Context, s scope.Scope) (int64, error)
}

// Checkpoints are the stores that follow the log, by name.
func (a *Awaiting) Checkpoints() map[string]Checkpointer {
	all := map[string]Checkpointer{"items": a.Items}
	if a.Keyword != nil {
		all["keyword"] = a.Keyword
	}
	if a.Private != nil {
		all["private"] = a.Private
	}
	if a.Vector != nil {
		all["vector"] = a.Vector
	}
	if a.Graph != nil {
		all["graph"] = a.Graph
	}
	return all
}
