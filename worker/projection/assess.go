package projection

import (
	"context"
	"errors"
	"fmt"

	"satchel/pipeline/model"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// assessNovelty adds to the changes of items how new they are. Without a model they go without,
// and the run in which the vectors catch up scores them; an item behind one that was erased
// meanwhile has no novelty before a rebuild.
func (p *Projector) assessNovelty(ctx context.Context, s scope.Scope, embedder model.Embedder, changes *projection, into, vectors *step, upTo int64) error {
	if p.novelty == nil {
		return nil
	}
	defer p.novelty.Forget(s.Tenant(), changes.items)
	if embedder != nil && into.at != ownedElsewhere && into.err == nil && vectors.err == nil && vectors.at < into.at {
		if err := p.assessLate(ctx, s, embedder, changes, vectors.at, into.at); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			vectors.err = err // before the vectors move on, so that the next run tries again
		}
	}
	if into.at >= upTo || into.err != nil {
		return nil
	}
	batch := NoveltyChanges{Items: changes.items, Vectors: changes.vector}
	novelties, err := p.novelty.Batch(ctx, s, embedder, batch, into.at, upTo)
	if errors.Is(err, ErrEmbed) && ctx.Err() == nil {
		vectors.err = err
		novelties, err = p.novelty.Batch(ctx, s, nil, batch, into.at, upTo)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		into.err = fmt.Errorf("score how new items are up to %d: %w", upTo, err)
	case len(novelties) > 0:
		changes.items = append(changes.items, items.Change{Position: upTo, Novelty: novelties})
	}
	return nil
}

// assessLate scores the items put after one position and up to another: no model answered then.
func (p *Projector) assessLate(ctx context.Context, s scope.Scope, embedder model.Embedder, changes *projection, after, upTo int64) error {
	var put []string
	for i := range changes.items {
		if c := &changes.items[i]; c.Put != nil && c.Position > after && c.Position <= upTo {
			put = append(put, c.Put.ID)
		}
	}
	records, err := p.cfg.Stores.Items.Get(ctx, s, put)
	if err != nil {
		return err
	}
	ids := listUnscored(records)
	if len(ids) == 0 {
		return nil
	}
	novelties, err := p.novelty.Again(ctx, s, embedder, ids)
	if err != nil {
		return err
	}
	return p.cfg.Stores.Novelty.SetNovelties(ctx, s, novelties)
}

// listUnscored lists the records without a novelty.
func listUnscored(records []schemas.Record) []string {
	var ids []string
	for i := range records {
		if records[i].Novelty == nil {
			ids = append(ids, records[i].ID)
		}
	}
	return ids
}
