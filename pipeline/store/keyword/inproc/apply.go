package inproc

import (
	"context"
	"fmt"

	"satchel/pipeline/store/keyword"
)

// apply takes the changes above the checkpoint, a few at a time. The caller holds write.
func (r *resident) apply(ctx context.Context, changes []keyword.Change, upTo int64) error {
	if err := inOrder(changes, upTo); err != nil {
		return err
	}
	for len(changes) > 0 && changes[0].Position <= r.checkpoint {
		changes = changes[1:]
	}
	for len(changes) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(batch, len(changes))
		for n < len(changes) && changes[n].Position == changes[n-1].Position {
			n++
		}
		if err := r.applyBatch(changes[:n]); err != nil {
			return err
		}
		r.analyzers = r.analyzers[:min(len(r.analyzers), batch)]
		r.changed += n
		changes = changes[n:]
	}
	if upTo > r.checkpoint {
		r.lock.Lock()
		r.checkpoint = upTo
		r.lock.Unlock()
	}
	return nil
}

// inOrder checks the order of positions, and that every document put has an id.
func inOrder(changes []keyword.Change, upTo int64) error {
	last := int64(0)
	for i := range changes {
		c := &changes[i]
		if c.Position < last || c.Position > upTo {
			return fmt.Errorf("position %d after %d, up to %d: %w", c.Position, last, upTo, ErrOrder)
		}
		last = c.Position
		if c.Put != nil && c.Put.ID == "" {
			return fmt.Errorf("position %d: item has no id", c.Position)
		}
	}
	return nil
}

// applyBatch analyses the batch's texts, then adds them in one hold of the lock.
func (r *resident) applyBatch(changes []keyword.Change) error {
	for len(r.analyzers) < len(changes) {
		r.analyzers = append(r.analyzers, keyword.Analyzer{})
	}
	for i := range changes {
		if changes[i].Put != nil {
			r.analyzers[i].Analyze(changes[i].Put.Text)
		}
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	for i := range changes {
		c := &changes[i]
		for _, id := range c.Remove {
			r.remove(id)
		}
		if d := c.Put; d != nil {
			if err := r.put(d.ID, d.Position, d.Facets, &r.analyzers[i]); err != nil {
				return err
			}
		}
	}
	r.checkpoint = changes[len(changes)-1].Position
	return nil
}

// swap makes n the state readers see.
func (t *tenant) swap(n *state) {
	t.lock.Lock()
	t.state = n
	t.lock.Unlock()
}

// maintain compacts and writes a snapshot when it is time. The caller holds write.
func (r *resident) maintain() error {
	if r.wasteful() {
		n, err := r.compact()
		if err != nil {
			return fmt.Errorf("compact keyword index of tenant %q: %w", r.Tenant(), err)
		}
		r.swap(n)
	}
	r.x.tenants.Account(r, r.state.bytes())
	if every := r.x.cfg.SnapshotEvery; every > 0 && r.changed-r.saved >= max(every, r.docs/4) {
		if err := r.save(); err != nil {
			r.saved = r.changed // it is tried again after as many changes
			return err
		}
	}
	return nil
}
