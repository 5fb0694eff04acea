package neo4j

import (
	"context"
	"fmt"

	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// Checkpoint implements graph.Driver. It asks the member of a cluster that writes.
func (db *DB) Checkpoint(ctx context.Context, tenant string) (at int64, err error) {
	err = db.runWriteTransaction(ctx, tenant, func(t *tx) error {
		rows, err := t.runStatement("MATCH (t:SatchelTenant {name: $tenant}) RETURN t.checkpoint", nil)
		at, _ = findFirstValue(rows).(int64)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read graph checkpoint: %w", err)
	}
	db.rollback.Raise(tenant, at)
	return at, nil
}

// Between implements graph.Driver.
func (db *DB) Between(ctx context.Context, tenant string, ids []string, f schemas.Filter) (out []schemas.Edge, err error) {
	p := params{"ids": ids}
	statement := fmt.Sprintf(`UNWIND $ids AS id MATCH (n:SatchelItem {tenant: $tenant, id: id})-[e:SATCHEL_LINK]->(m:SatchelItem)
		WHERE m.tenant = $tenant AND m.id IN $ids AND %s AND %s
		RETURN DISTINCT n.id, e.rel, m.id`, translateFilter(f, "n", p), translateFilter(f, "m", p))
	err = db.runReadTransaction(ctx, tenant, func(t *tx) error {
		rows, err := t.runStatement(statement, p)
		out = make([]schemas.Edge, 0, len(rows))
		for _, r := range rows {
			var e schemas.Edge
			e.From, _ = r.Values[0].(string)
			rel, _ := r.Values[1].(string)
			e.To, _ = r.Values[2].(string)
			e.Rel = schemas.Rel(rel)
			out = append(out, e)
		}
		return err
	})
	return out, err
}

// Remaining counts which of the items the graph holds; erasure asks it. What is only the
// far end of someone else's link is not held.
func (db *DB) Remaining(ctx context.Context, tenant string, ids []string) (n int, err error) {
	err = db.runWriteTransaction(ctx, tenant, func(t *tx) error {
		rows, err := t.runStatement(`UNWIND $ids AS id MATCH (n:SatchelItem {tenant: $tenant, id: id})
			WHERE n.data IS NOT NULL RETURN count(n)`, params{"ids": ids})
		found, _ := findFirstValue(rows).(int64)
		n = int(found)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count what is left of %d items: %w", len(ids), err)
	}
	return n, nil
}

// scanRows is how many rows a transaction of Scan reads.
const scanRows = 1000

// Scan implements graph.Driver, page by page.
func (db *DB) Scan(ctx context.Context, tenant string, yield func(id string, n *graph.Row)) error {
	type found struct {
		id string
		*graph.Row
	}
	for last, more := "", true; more; {
		var page []found
		err := db.runReadTransaction(ctx, tenant, func(t *tx) error {
			rows, err := t.runStatement(`MATCH (n:SatchelItem {tenant: $tenant}) WHERE n.id > $last AND n.data IS NOT NULL
				RETURN n.id, n.data ORDER BY n.id LIMIT $rows`, params{"last": last, "rows": scanRows})
			page = page[:0]
			for _, r := range rows {
				id, row, err := decodeRow(r.Values)
				if err != nil {
					return err
				}
				page = append(page, found{id, row})
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("scan graph: %w", err)
		}
		for _, f := range page {
			yield(f.id, f.Row)
			last = f.id
		}
		more = len(page) == scanRows
	}
	return nil
}
