package worker

import (
	"context"
	"errors"
	"fmt"

	"satchel/pipeline/embed"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// assess adds to the changes of items how new they are. Without a model they go without,
// and the run in which the vectors catch up judges them; an item behind one that was erased
// meanwhile has no novelty before a rebuild.
func (p *Projector) assess(ctx context.Context, s scope.Scope, embedder embed.Embedder, changes *projection, at *checkpoints, failed *failures, upTo int64) error {
	if p.judge == nil {
		return nil
	}
	defer p.judge.forget(s.Tenant(), changes.items)
	if embedder != nil && at[0] != foreign && failed[0] == nil && failed[2] == nil && at[2] < at[0] {
		if err := p.assessLate(ctx, s, embedder, changes, at); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			failed[2] = err // before the vectors move on, so that the next run tries again
		}
	}
	if at[0] >= upTo || failed[0] != nil {
		return nil
	}
	novelties, err := p.judge.batch(ctx, s, embedder, changes, at[0], upTo)
	if errors.Is(err, errEmbed) && ctx.Err() == nil {
		failed[2] = err
		novelties, err = p.judge.batch(ctx, s, nil, changes, at[0], upTo)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		failed[0] = fmt.Errorf("judge how new items are up to %d: %w", upTo, err)
	case len(novelties) > 0:
		changes.items = append(changes.items, items.Change{Position: upTo, Novelty: novelties})
	}
	return nil
}

// assessLate judges what was put while no model answered.
func (p *Projector) assessLate(ctx context.Context, s scope.Scope, embedder embed.Embedder, changes *projection, at *checkpoints) error {
	var put []string
	for i := range changes.items {
		if c := &changes.items[i]; c.Put != nil && c.Position > at[2] && c.Position <= at[0] {
			put = append(put, c.Put.ID)
		}
	}
	records, err := p.stores.Items.Get(ctx, s, put)
	if err != nil {
		return err
	}
	ids := unjudged(records)
	if len(ids) == 0 {
		return nil
	}
	novelties, err := p.judge.again(ctx, s, embedder, ids)
	if err != nil {
		return err
	}
	return p.stores.Novelty.SetNovelties(ctx, s, novelties)
}

// unjudged lists the records without a novelty.
func unjudged(records []schemas.Record) []string {
	var ids []string
	for i := range records {
		if records[i].Novelty == nil {
			ids = append(ids, records[i].ID)
		}
	}
	return ids
}
