package sqlite

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"satchel/pipeline/store/items"
)

// SessionPositions implements items.Order. A rank is an ordinal of the directory.
func (db *Items) SessionPositions(ctx context.Context, tenant string, ids []string) (map[string]items.SessionPosition, error) {
	out := map[string]items.SessionPosition{}
	err := db.tenants.View(ctx, tenant, func(d *directory) {
		for _, id := range ids {
			ord, ok := d.ids.Lookup(id)
			if !ok {
				continue
			}
			p := items.SessionPosition{Rank: int64(ord)}
			if s := d.session[ord]; s != none {
				p.Session = d.sessions.ID(s)
			}
			out[id] = p
		}
	})
	return out, err
}

// Windows implements items.Order.
func (db *Items) Windows(ctx context.Context, tenant string, spots []items.Window) ([][]items.Member, error) {
	out := make([][]items.Member, len(spots))
	err := db.tenants.View(ctx, tenant, func(d *directory) {
		for i := range spots {
			out[i] = d.readWindow(&spots[i])
		}
	})
	return out, err
}

func (d *directory) readWindow(a *items.Window) []items.Member {
	list := d.loose
	if a.Session != "" {
		s, ok := d.sessions.Lookup(a.Session)
		if !ok {
			return nil
		}
		list = d.members[s]
		if !slices.IsSorted(list) { // it is by seq
			list = slices.Sorted(slices.Values(list))
		}
	}
	at, _ := slices.BinarySearch(list, uint32(min(a.Rank, math.MaxUint32)))
	list = list[max(0, at-a.Before):min(len(list), at+a.After)]
	out := make([]items.Member, len(list))
	for i, ord := range list {
		out[i] = items.Member{ID: d.ids.ID(ord), Rank: int64(ord)}
	}
	return out
}

// SetNovelties implements items.Order. The directory holds nothing of it.
func (db *Items) SetNovelties(ctx context.Context, tenant string, novelties map[string]float64) error {
	err := db.tenants.Commit(tenant, func() (func(*directory), error) {
		return nil, db.file.Update(ctx, tenant, func(tx *Tx) error { return db.setNovelties(ctx, tx, novelties) })
	})
	if err != nil {
		return fmt.Errorf("set novelties: %w", db.file.Named(err))
	}
	return nil
}

func (db *Items) setNovelties(ctx context.Context, tx *Tx, novelties map[string]float64) error {
	rows, err := db.readHeads(tx, slices.Collect(maps.Keys(novelties)))
	if err != nil {
		return err
	}
	stmt := tx.Stmt(db.stmts.updateHead)
	for id, r := range rows {
		if r.Metadata.Position == 0 {
			continue
		}
		r.Metadata.SetNovelty(novelties[id])
		if _, err := stmt.ExecContext(ctx, r.Metadata.Append(nil), r.Key); err != nil {
			return err
		}
	}
	return nil
}
