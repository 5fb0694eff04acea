package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"satchel/pipeline/store/items"
)

// SessionPositions implements items.Order. A rank is the position of the first version.
func (db *Items) SessionPositions(ctx context.Context, tenant string, ids []string) (map[string]items.SessionPosition, error) {
	rows, err := db.pool.Query(ctx, "SELECT id, session, first FROM items WHERE tenant = "+itemsTenantID+" AND id = ANY ($2) AND tokens >= 0", tenant, ids)
	if err != nil {
		return nil, wrapItems("find places", err)
	}
	out := map[string]items.SessionPosition{}
	var id string
	var p items.SessionPosition
	_, err = pgx.ForEachRow(rows, []any{&id, &p.Session, &p.Rank}, func() error {
		out[id] = p
		return nil
	})
	return out, wrapItems("find places", err)
}

const (
	membersBelow = "SELECT id, first FROM items WHERE tenant = " + itemsTenantID + " AND session = $2 AND first < $3 AND tokens >= 0 ORDER BY first DESC LIMIT $4"
	membersFrom  = "SELECT id, first FROM items WHERE tenant = " + itemsTenantID + " AND session = $2 AND first >= $3 AND tokens >= 0 ORDER BY first LIMIT $4"
)

// Windows implements items.Order: all spots travel together.
func (db *Items) Windows(ctx context.Context, tenant string, spots []items.Window) ([][]items.Member, error) {
	batch := &pgx.Batch{}
	for i := range spots {
		a := &spots[i]
		if a.Before > 0 {
			batch.Queue(membersBelow, tenant, ShortText(a.Session), a.Rank, a.Before)
		}
		if a.After > 0 {
			batch.Queue(membersFrom, tenant, ShortText(a.Session), a.Rank, a.After)
		}
	}
	results := db.pool.SendBatch(ctx, batch)
	out := make([][]items.Member, len(spots))
	err := func() error {
		for i := range spots {
			a := &spots[i]
			if a.Before > 0 {
				list, err := collectMembers(results)
				if err != nil {
					return err
				}
				slices.Reverse(list)
				out[i] = list
			}
			if a.After > 0 {
				list, err := collectMembers(results)
				if err != nil {
					return err
				}
				out[i] = append(out[i], list...)
			}
		}
		return nil
	}()
	if closed := results.Close(); err == nil {
		err = closed
	}
	return out, wrapItems("look around", err)
}

func collectMembers(results pgx.BatchResults) ([]items.Member, error) {
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[items.Member])
}

// SetNovelties implements items.Order.
func (db *Items) SetNovelties(ctx context.Context, tenant string, novelties map[string]float64) error {
	err := UpdateTenant(ctx, db.pool, tenant, func(tx pgx.Tx, row Tenant) error {
		rows, err := readHeads(ctx, tx, row.ID, slices.Collect(maps.Keys(novelties)))
		if err != nil {
			return err
		}
		var there []string
		var heads [][]byte
		for id, r := range rows {
			if r.Metadata.Position > 0 {
				r.Metadata.SetNovelty(novelties[id])
				there = append(there, id)
				heads = append(heads, r.Metadata.Append(nil))
			}
		}
		_, err = tx.Exec(ctx, putHeads, row.ID, there, heads)
		return err
	})
	return wrapItems("set novelties", err)
}
