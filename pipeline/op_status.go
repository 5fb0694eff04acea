package pipeline

import (
	"context"
	"maps"
	"slices"
	"strings"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// Status returns the size of the tenant's log, and up to which position each index has everything. It
// reads no item, and the log keeps nothing of it. Every error is a *schemas.Error.
func (e *Engine) Status(ctx context.Context, s scope.Scope, in schemas.StatusRequest) (schemas.StatusReply, error) {
	if issues := in.Validate(); len(issues) > 0 {
		return schemas.StatusReply{}, typed(ctx, schemas.Invalid(issues))
	}
	if e.cfg.Prover == nil {
		return schemas.StatusReply{}, storageError("there is no log to ask")
	}
	head, err := e.cfg.Prover.SignedHead(ctx, s)
	if err != nil {
		return schemas.StatusReply{}, typed(ctx, err)
	}
	out := schemas.StatusReply{Size: head.Size, Indexed: map[string]int64{}}
	var silent []string
	stores := e.checkpoints()
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		at, err := stores[name].Checkpoint(ctx, s)
		if err != nil {
			silent = append(silent, name)
			continue
		}
		out.Indexed[name] = at
	}
	if out.Ready = len(silent) == 0; !out.Ready {
		out.Reason = "no answer from: " + strings.Join(silent, ", ")
	}
	return out, nil
}

// checkpointer says up to which log position a store has everything.
type checkpointer interface {
	Checkpoint(ctx context.Context, s scope.Scope) (int64, error)
}

// checkpoints are the stores that follow the log, by name.
func (e *Engine) checkpoints() map[string]checkpointer {
	all := map[string]checkpointer{"items": e.cfg.Items}
	if e.cfg.Keyword != nil {
		all["keyword"] = e.cfg.Keyword
	}
	if e.cfg.Private != nil {
		all["private"] = e.cfg.Private
	}
	if e.cfg.Vector != nil {
		all["vector"] = e.cfg.Vector
	}
	if e.cfg.Graph != nil {
		all["graph"] = e.cfg.Graph
	}
	return all
}
