package op

import (
	"context"
	"maps"
	"slices"
	"strings"

	"satchel/pipeline"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Status returns the size of the tenant's log, and up to which position each index has everything. It
// reads no item, and the log keeps nothing of it. Every error is a *schemas.Error.
func (e *Operations) Status(ctx context.Context, s scope.Scope, in schemas.StatusRequest) (schemas.StatusReply, error) {
	if issues := in.Validate(); len(issues) > 0 {
		return schemas.StatusReply{}, pipeline.Typed(ctx, schemas.Invalid(issues))
	}
	if e.Commit.Prover == nil {
		return schemas.StatusReply{}, pipeline.StorageError("there is no log to ask")
	}
	head, err := e.Commit.Prover.SignedHead(ctx, s)
	if err != nil {
		return schemas.StatusReply{}, pipeline.Typed(ctx, err)
	}
	out := schemas.StatusReply{Size: head.Size, Indexed: map[string]int64{}}
	var silent []string
	stores := e.Await.Checkpoints()
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		at, err := stores[name].Checkpoint(ctx, s)
		if err != nil {
			silent = append(silent, name)
			continue
		}
		out.Indexed[name] = at
	}
	out.Ready = len(silent) == 0
	if !out.Ready {
		out.Reason = "no answer from: " + strings.Join(silent, ", ")
	}
	return out, nil
}
