package sqlite

import (
	"context"

	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// applyItemEntries brings the rows of a committed batch into the directory.
func (d *directory) applyItemEntries(written []itemsEntry) {
	for _, e := range written {
		if e.Erased || e.Key == 0 { // an id that was erased may have come back
			d.removeItem(e.id)
		}
		if e.Put != nil {
			d.putDirectoryItem(e.id, &e.Metadata, d.facets.Intern(e.Metadata.Facets))
		}
	}
	d.refreshDirectory()
}

// Neighbours implements items.Directory.
func (db *Items) Neighbours(ctx context.Context, tenant string, ids []string, radius int) (out map[string][]items.Neighbour, err error) {
	err = db.tenants.View(ctx, tenant, func(d *directory) { out = d.findNeighbours(ids, radius) })
	return out, err
}

// Recent implements items.Directory.
func (db *Items) Recent(ctx context.Context, tenant string, f schemas.Filter, behind items.Place, limit int) (out []string, err error) {
	err = db.tenants.View(ctx, tenant, func(d *directory) { out = d.findRecentItems(d.facets.Allowed(f), behind, limit) })
	return out, err
}

// Stats implements items.Directory.
func (db *Items) Stats(ctx context.Context, tenant string) (out items.Stats, err error) {
	err = db.tenants.View(ctx, tenant, func(d *directory) { out = d.summarizeItems() })
	return out, err
}
