package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// Remaining counts which of the items the graph holds; an erasure asks it. The far end of
// another item's link is not held.
func (db *Graph) Remaining(ctx context.Context, tenant string, ids []string) (n int, err error) {
	for _, id := range ids {
		var found int
		if err := db.file.Read.QueryRowContext(ctx, "SELECT count(*) FROM nodes WHERE tenant = "+TenantNum+" AND id = ?", tenant, id).Scan(&found); err != nil {
			return 0, fmt.Errorf("count what is left of %d items: %w", len(ids), db.file.Named(err))
		}
		n += found
	}
	return n, nil
}

// Scan implements graph.Driver.
func (db *Graph) Scan(ctx context.Context, tenant string, yield func(id string, n *graph.Row)) error {
	rows, err := db.file.Read.QueryContext(ctx,
		"SELECT id, data FROM nodes WHERE tenant = "+TenantNum+" ORDER BY id", tenant)
	if err == nil {
		err = eachRow(rows, yield)
	}
	if err != nil {
		return fmt.Errorf("scan graph: %w", db.file.Named(err))
	}
	return nil
}

// eachRow decodes and closes rows.
func eachRow(rows *sql.Rows, yield func(id string, n *graph.Row)) error {
	defer rows.Close()
	var id string
	var data sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&id, &data); err != nil {
			return err
		}
		n, err := graph.DecodeRow(data)
		if err != nil {
			return fmt.Errorf("node %q: %w", id, err)
		}
		yield(id, &n)
	}
	return rows.Err()
}

// loadAdjacency reads a tenant's adjacency.
func (db *Graph) loadAdjacency(ctx context.Context, tenant string) (*adjacency, error) {
	a := newAdjacency()
	err := db.file.Load(ctx, tenant, func(tx *sql.Tx, low, high, checkpoint int64) error {
		rows, err := tx.QueryContext(ctx, "SELECT id, data FROM nodes WHERE key BETWEEN ? AND ? ORDER BY key", low, high)
		if err != nil {
			return err
		}
		var edges []written
		if err := eachRow(rows, func(id string, n *graph.Row) { edges = a.takeNodeRow(edges, id, n, 0) }); err != nil {
			return err
		}
		a.joinEdges(edges)
		a.upTo = checkpoint
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load graph: %w", err)
	}
	return a, nil
}

// written is an edge with the position that wrote it and its order there.
type written struct {
	position         int64
	order            int32
	from, to, reason uint32
}

// joinEdges adds edges in the order in which they were written.
func (a *adjacency) joinEdges(edges []written) {
	slices.SortFunc(edges, func(x, y written) int {
		if c := cmp.Compare(x.position, y.position); c != 0 {
			return c
		}
		if x.from != y.from {
			return strings.Compare(a.ids.ID(x.from), a.ids.ID(y.from))
		}
		return cmp.Compare(x.order, y.order)
	})
	for _, e := range edges {
		a.connectNodes(e.from, e.to, e.reason)
	}
}

// Walk implements graph.Driver.
func (db *Graph) Walk(ctx context.Context, tenant string, w graph.Walk) (out []graph.Visit, err error) {
	err = db.tenants.View(ctx, tenant, func(a *adjacency) { out = a.walkGraph(w) })
	return out, err
}

// Between implements graph.Driver.
func (db *Graph) Between(ctx context.Context, tenant string, ids []string, f schemas.Filter) (out []schemas.Edge, err error) {
	err = db.tenants.View(ctx, tenant, func(a *adjacency) { out = a.findEdgesBetween(ids, f) })
	return out, err
}
