package projection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"satchel/pipeline/model"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	"satchel/worker/metrics"
)

// target is one store that the projector keeps up with the log. The functions are those of
// the store's port.
type target struct {
	name       string
	required   bool // nobody searches without it, also while it does not answer
	shared     bool // the workers share it: the owner of the tenant feeds it
	checkpoint func(ctx context.Context, s scope.Scope) (int64, error)
	apply      func(ctx context.Context, s scope.Scope, changes *projection, upTo int64) error
	reset      func(ctx context.Context, s scope.Scope) error
}

// targets is the list of everything that the projector feeds, and the model that fills its
// vectors. A list does not change: another vector index comes with a new one.
type targets struct {
	list     []target
	embedder model.Embedder
}

// Places in the list of targets that novelty depends on; the order of the others is free.
const (
	itemsTarget = iota
	vectorTarget
)

// newTargets lists the stores, with the vector index and the model that serve.
func newTargets(stores *Stores, index vector.Index, embedder model.Embedder) *targets {
	shared := stores.Shared
	t := &targets{embedder: embedder, list: []target{
		itemsTarget: {
			name: "items", required: true, shared: shared.Items, checkpoint: stores.Items.Checkpoint, reset: stores.Items.Reset,
			apply: func(ctx context.Context, s scope.Scope, c *projection, upTo int64) error {
				return stores.Items.Apply(ctx, s, c.items, upTo)
			},
		},
		vectorTarget: {
			name: "vector index", shared: shared.Vector, checkpoint: index.Checkpoint, reset: index.Reset,
			apply: func(ctx context.Context, s scope.Scope, c *projection, upTo int64) error {
				return index.Apply(ctx, s, c.vector, upTo)
			},
		},
		{
			name: "keyword index", shared: shared.Keyword, checkpoint: stores.Keyword.Checkpoint, reset: stores.Keyword.Reset,
			apply: func(ctx context.Context, s scope.Scope, c *projection, upTo int64) error {
				return stores.Keyword.Apply(ctx, s, c.keyword, upTo)
			},
		},
		{
			name: "graph", shared: shared.Graph, checkpoint: stores.Graph.Checkpoint, reset: stores.Graph.Reset,
			apply: func(ctx context.Context, s scope.Scope, c *projection, upTo int64) error {
				return stores.Graph.Apply(ctx, s, c.graph, upTo)
			},
		},
	}}
	if private := stores.Private; private != nil {
		t.list = append(t.list, target{
			name: "private keyword index", shared: shared.Keyword, checkpoint: private.Checkpoint, reset: private.Reset,
			apply: func(ctx context.Context, s scope.Scope, c *projection, upTo int64) error {
				return private.Apply(ctx, s, c.private, upTo)
			},
		})
	}
	return t
}

// ownedElsewhere is the position of a target that another worker feeds: never behind.
const ownedElsewhere = math.MaxInt64

// step is one target in a run of the projector: its position, and why it takes nothing more
// in this run, nil while it does.
type step struct {
	*target
	at  int64
	err error
}

// steps are the targets of a run, in the order of the list.
type steps []step

// errAway says that a store did not say how far it is.
var errAway = errors.New("read checkpoint")

// collectSteps asks the targets for their checkpoints. One that does not answer has failed, and
// counts as where all of them were known to be. Targets that another worker feeds are not asked.
func (t *targets) collectSteps(ctx context.Context, s scope.Scope, owned bool, known int64) steps {
	run := make(steps, len(t.list))
	for i := range t.list {
		one := &run[i]
		one.target = &t.list[i]
		if one.shared && !owned {
			one.at = ownedElsewhere
			continue
		}
		one.at, one.err = one.checkpoint(ctx, s)
		if one.err != nil {
			one.at, one.err = known, fmt.Errorf("%w of %s: %w", errAway, one.name, one.err)
		}
	}
	return run
}

// resetTargets empties the targets that this worker feeds.
func (t *targets) resetTargets(ctx context.Context, s scope.Scope, owned bool) error {
	for i := range t.list {
		if one := &t.list[i]; owned || !one.shared {
			if err := one.reset(ctx, s); err != nil {
				return fmt.Errorf("reset %s: %w", one.name, err)
			}
		}
	}
	return nil
}

// findLeastPosition returns the least position.
func (run steps) findLeastPosition() int64 {
	least := int64(ownedElsewhere)
	for i := range run {
		least = min(least, run[i].at)
	}
	return least
}

// findGreatestPosition returns the greatest position of the targets that this worker feeds.
func (run steps) findGreatestPosition() int64 {
	most := int64(0)
	for i := range run {
		if run[i].at != ownedElsewhere {
			most = max(most, run[i].at)
		}
	}
	return most
}

// listPositions returns how far each index is.
func (run steps) listPositions() []metrics.Position {
	list := make([]metrics.Position, len(run))
	for i := range run {
		list[i] = metrics.Position{Index: run[i].name, At: run[i].at}
	}
	return list
}

// findLeastWorking returns the least position of the targets that work; false when none does.
func (run steps) findLeastWorking() (int64, bool) {
	from := int64(0)
	working := false
	for i := range run {
		if one := &run[i]; one.err == nil && (!working || one.at < from) {
			from = one.at
			working = true
		}
	}
	return from, working
}

// findLeastAnswering returns the least position but for targets that do not answer: a search says of
// those that they were left out.
func (run steps) findLeastAnswering() int64 {
	least := int64(ownedElsewhere)
	for i := range run {
		if one := &run[i]; one.required || !errors.Is(one.err, errAway) && !errors.Is(one.err, ErrEmbed) {
			least = min(least, one.at)
		}
	}
	return least
}

// joinFailures joins the errors of the targets.
func (run steps) joinFailures() error {
	var failed []error
	for i := range run {
		failed = append(failed, run[i].err)
	}
	return errors.Join(failed...)
}

// applyChanges brings every target that works and is behind to upTo, side by side.
func (run steps) applyChanges(ctx context.Context, s scope.Scope, changes *projection, upTo int64, applied func()) {
	var wg sync.WaitGroup
	for i := range run {
		one := &run[i]
		if one.at >= upTo || one.err != nil {
			continue
		}
		wg.Go(func() {
			if err := one.target.apply(ctx, s, changes, upTo); err != nil {
				one.err = fmt.Errorf("apply to %s up to %d: %w", one.name, upTo, err)
				return
			}
			one.at = upTo
			applied()
		})
	}
	wg.Wait()
}

// sharedTargets returns the targets that other workers may feed.
func (t *targets) sharedTargets() []target {
	return slices.DeleteFunc(slices.Clone(t.list), func(one target) bool { return !one.shared })
}
