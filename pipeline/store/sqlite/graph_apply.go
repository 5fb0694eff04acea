package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/store/graph"
)

// graphEntry is a row that a batch writes, and what it was before.
type graphEntry struct {
	id string
	*graph.Row
}

// Apply implements graph.Driver.
func (db *Graph) Apply(ctx context.Context, tenant string, b *graph.Batch) error {
	return db.file.Named(db.tenants.Commit(tenant, func() (func(*adjacency), error) {
		entries, err := db.commitGraphBatch(ctx, tenant, b)
		if err != nil || entries == nil {
			return nil, err
		}
		return func(a *adjacency) { a.applyGraphEntries(entries, b.UpTo) }, nil
	}))
}

// commitGraphBatch writes a batch and returns its rows, nil when there was nothing to do.
func (db *Graph) commitGraphBatch(ctx context.Context, tenant string, b *graph.Batch) (entries []graphEntry, err error) {
	folded, err := db.file.Fold(ctx, tenant, b.UpTo, func(tx *Tx) error {
		rows, err := db.readGraphRows(tx, b.IDs())
		if err != nil {
			return err
		}
		b.Fold(tx.Checkpoint, rows)
		entries = listChangedRows(rows)
		return db.writeGraphEntries(ctx, tx, entries)
	})
	if err != nil || !folded {
		return nil, err
	}
	return entries, nil
}

func (db *Graph) readGraphRows(tx *Tx, ids []string) (map[string]*graph.Row, error) {
	found := make(map[string]*graph.Row, len(ids))
	rows, err := tx.Rows(db.found, ids)
	if err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var key int64
		var data sql.RawBytes
		if err := rows.Scan(&key, &id, &data); err != nil {
			return nil, fmt.Errorf("read node: %w", err)
		}
		r, err := graph.DecodeRow(data)
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", id, err)
		}
		r.Key = key
		found[id] = &r
	}
	return found, rows.Err()
}

// listChangedRows returns the rows that changed or were removed, by position.
func listChangedRows(rows map[string]*graph.Row) []graphEntry {
	entries := make([]graphEntry, 0, len(rows))
	for id, r := range rows {
		if r.Changed || r.Removed {
			entries = append(entries, graphEntry{id, r})
		}
	}
	slices.SortFunc(entries, func(a, b graphEntry) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), strings.Compare(a.id, b.id))
	})
	return entries
}

func (db *Graph) writeGraphEntries(ctx context.Context, tx *Tx, entries []graphEntry) error {
	var remove []int64
	var inserts []graphEntry
	var buf []byte
	for _, e := range entries {
		switch {
		case e.Removed:
			remove = append(remove, e.Key)
		case e.Key == 0:
			inserts = append(inserts, e)
			if e.Old != 0 {
				remove = append(remove, e.Old)
			}
		default:
			buf = e.Row.Append(buf[:0])
			if _, err := tx.Stmt(db.update).ExecContext(ctx, buf, e.Key); err != nil {
				return fmt.Errorf("update node %q: %w", e.id, err)
			}
		}
	}
	if err := tx.Remove(db.nodes, remove); err != nil {
		return err
	}
	return Insert(tx, db.nodes, inserts, func(args []any, buf []byte, e *graphEntry) ([]any, []byte) {
		start := len(buf)
		buf = e.Row.Append(buf)
		return append(args, e.id, buf[start:]), buf
	})
}

// Reset removes a tenant's rows and its checkpoint.
func (db *Graph) Reset(ctx context.Context, tenant string) error {
	return db.reset(ctx, tenant, "nodes")
}
