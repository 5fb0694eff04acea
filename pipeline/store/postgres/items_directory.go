package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"satchel/pipeline/store/items"
	"satchel/schemas"
)

const neighboursQuery = `SELECT a.id, n.before, n.id, n.terms
	FROM items a CROSS JOIN LATERAL (
		(SELECT true AS before, b.id, b.terms, b.seq, b.first FROM items b
			WHERE b.tenant = a.tenant AND b.session = a.session AND b.session <> '' AND b.tokens >= 0 AND (b.seq, b.first) < (a.seq, a.first)
			ORDER BY b.seq DESC, b.first DESC LIMIT $3)
		UNION ALL
		(SELECT false, b.id, b.terms, b.seq, b.first FROM items b
			WHERE b.tenant = a.tenant AND b.session = a.session AND b.session <> '' AND b.tokens >= 0 AND (b.seq, b.first) > (a.seq, a.first)
			ORDER BY b.seq, b.first LIMIT $3)
	) n
	WHERE a.tenant = ` + itemsTenantID + ` AND a.id = ANY ($2) AND a.session <> '' AND a.tokens >= 0
	ORDER BY a.id, n.seq, n.first`

// Neighbours implements items.Directory.
func (db *Items) Neighbours(ctx context.Context, tenant string, ids []string, radius int) (map[string][]items.Neighbour, error) {
	out := make(map[string][]items.Neighbour, len(ids))
	rows, err := db.pool.Query(ctx, neighboursQuery, tenant, ids, radius)
	if err != nil {
		return nil, wrapItems("find neighbours", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var before bool
		var n items.Neighbour
		if err := rows.Scan(&id, &before, &n.ID, &n.Terms); err != nil {
			return nil, wrapItems("find neighbours", err)
		}
		list := out[id]
		if before { // the one nearest comes last, at offset −1
			for i := range list {
				list[i].Offset--
			}
			n.Offset = -1
		} else if n.Offset = 1; len(list) > 0 && list[len(list)-1].Offset > 0 {
			n.Offset = list[len(list)-1].Offset + 1
		}
		out[id] = append(list, n)
	}
	return out, wrapItems("find neighbours", rows.Err())
}

// Recent implements items.Directory.
func (db *Items) Recent(ctx context.Context, tenant string, f schemas.Filter, behind items.Place, limit int) ([]string, error) {
	args := []any{tenant, limit}
	where := FilterCondition(f, "i", &args)
	if behind != (items.Place{}) {
		args = append(args, behind.Created.UnixMicro(), behind.First)
		where += fmt.Sprintf(" AND (i.created, i.first) < ($%d, $%d)", len(args)-1, len(args))
	}
	rows, err := db.pool.Query(ctx, "SELECT i.id FROM items i WHERE i.tenant = "+itemsTenantID+" AND i.tokens >= 0 AND "+where+
		" ORDER BY i.created DESC, i.first DESC LIMIT $2", args...)
	if err != nil {
		return nil, wrapItems("find recent items", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, wrapItems("find recent items", err)
}

// maxSpeakers bounds Stats.Speakers.
const maxSpeakers = 51

const statsQuery = `SELECT t.items, t.users, t.turns,
	coalesce((SELECT i.created FROM items i WHERE i.tenant = t.id AND i.tokens >= 0 ORDER BY i.created LIMIT 1), 0),
	coalesce((SELECT i.created FROM items i WHERE i.tenant = t.id AND i.tokens >= 0 ORDER BY i.created DESC LIMIT 1), 0),
	ARRAY(SELECT s.name FROM speakers s WHERE s.tenant = t.id ORDER BY s.first LIMIT $2)
	FROM tenants t WHERE t.name = $1`

// Stats implements items.Directory.
func (db *Items) Stats(ctx context.Context, tenant string) (items.Stats, error) {
	var s items.Stats
	var first, last int64
	err := db.pool.QueryRow(ctx, statsQuery, tenant, maxSpeakers).Scan(&s.Items, &s.UserTurns, &s.Turns, &first, &last, &s.Speakers)
	if errors.Is(err, pgx.ErrNoRows) {
		return items.Stats{}, nil
	}
	if err != nil {
		return items.Stats{}, wrapItems("describe items", err)
	}
	if s.Items > 0 {
		s.FirstCreated, s.LastCreated = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
	}
	return s, nil
}
