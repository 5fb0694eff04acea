package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/internal/sqlitefile"
	"satchel/schemas"
)

// Checkpoint implements graph.Driver.
func (db *DB) Checkpoint(ctx context.Context, tenant string) (int64, error) {
	at, err := db.file.Checkpoint(ctx, tenant)
	if err != nil {
		return 0, fmt.Errorf("read graph checkpoint: %w", err)
	}
	return at, nil
}

// Scan implements graph.Driver.
func (db *DB) Scan(ctx context.Context, tenant string, yield func(id string, n *graph.Row)) error {
	rows, err := db.file.Read.QueryContext(ctx,
		"SELECT id, data FROM nodes WHERE tenant = "+sqlitefile.TenantNum+" ORDER BY id", tenant)
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

// load reads a tenant's adjacency.
func (db *DB) load(ctx context.Context, tenant string) (a *adjacency, err error) {
	tx, err := db.file.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("load graph: %w", db.file.Named(err))
	}
	defer func() { err = errors.Join(err, sqlitefile.RolledBack(tx.Rollback())) }()
	var num, upTo int64
	a = newAdjacency()
	err = tx.QueryRowContext(ctx, "SELECT num, checkpoint FROM tenants WHERE name = ?", tenant).Scan(&num, &upTo)
	if errors.Is(err, sql.ErrNoRows) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load graph: %w", db.file.Named(err))
	}
	low, high := sqlitefile.KeyRange(num)
	rows, err := tx.QueryContext(ctx, "SELECT id, data FROM nodes WHERE key BETWEEN ? AND ? ORDER BY key", low, high)
	if err != nil {
		return nil, fmt.Errorf("load graph: %w", db.file.Named(err))
	}
	var edges []written
	err = eachRow(rows, func(id string, n *graph.Row) { edges = a.node(edges, id, n, 0) })
	if err != nil {
		return nil, fmt.Errorf("load graph: %w", db.file.Named(err))
	}
	a.join(edges)
	a.upTo = upTo
	return a, nil
}

// written is an edge with the position that wrote it and its order there.
type written struct {
	position         int64
	order            int32
	from, to, reason uint32
}

// join adds edges in the order in which they were written.
func (a *adjacency) join(edges []written) {
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
		a.connect(e.from, e.to, e.reason)
	}
}

// Walk implements graph.Driver.
func (db *DB) Walk(ctx context.Context, tenant string, w graph.Walk) (out []graph.Visit, err error) {
	err = db.tenants.View(ctx, tenant, func(a *adjacency) { out = a.walk(w) })
	return out, err
}

// Between implements graph.Driver.
func (db *DB) Between(ctx context.Context, tenant string, ids []string, f schemas.Filter) (out []schemas.Edge, err error) {
	err = db.tenants.View(ctx, tenant, func(a *adjacency) { out = a.between(ids, f) })
	return out, err
}
