package sqlite

import (
	"context"

	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// update returns what brings a committed batch into the directory.
func update(entries []entry, upTo int64) func(*directory) {
	return func(d *directory) {
		if d.upTo >= upTo {
			return
		}
		for _, e := range entries {
			if e.Erased || e.Key == 0 { // an id that was erased may have come back
				d.remove(e.id)
			}
			if e.Put != nil {
				d.put(e.id, &e.Head, d.facets.Intern(e.Head.Facets))
			}
		}
		d.settle()
		d.upTo = upTo
	}
}

// Neighbours implements items.Directory.
func (db *DB) Neighbours(ctx context.Context, tenant string, ids []string, radius int) (out map[string][]items.Neighbour, err error) {
	err = db.dirs.View(ctx, tenant, func(d *directory) { out = d.neighbours(ids, radius) })
	return out, err
}

// Recent implements items.Directory.
func (db *DB) Recent(ctx context.Context, tenant string, f schemas.Filter, limit int) (out []string, err error) {
	err = db.dirs.View(ctx, tenant, func(d *directory) { out = d.recent(d.facets.Allowed(f), limit) })
	return out, err
}

// Stats implements items.Directory.
func (db *DB) Stats(ctx context.Context, tenant string) (out items.Stats, err error) {
	err = db.dirs.View(ctx, tenant, func(d *directory) { out = d.stats() })
	return out, err
}
