package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/internal/sqlitefile"
)

// entry is a row that a batch writes, and what it was before.
type entry struct {
	id string
	*graph.Row
}

// Apply implements graph.Driver.
func (db *DB) Apply(ctx context.Context, tenant string, b *graph.Batch) error {
	return db.file.Named(db.tenants.Commit(tenant, func() (func(*adjacency), error) {
		entries, err := db.commit(ctx, tenant, b)
		if err != nil || entries == nil {
			return nil, err
		}
		return func(a *adjacency) { a.update(entries, b.UpTo) }, nil
	}))
}

// commit writes a batch and returns its rows, nil when there was nothing to do.
func (db *DB) commit(ctx context.Context, tenant string, b *graph.Batch) (entries []entry, err error) {
	folded, err := db.file.Fold(ctx, tenant, b.UpTo, func(tx *sqlitefile.Tx) error {
		rows, err := db.rows(ctx, tx, b.IDs())
		if err != nil {
			return err
		}
		b.Fold(tx.Checkpoint, rows)
		w := writer{ctx: ctx, tx: tx, db: &db.stmts}
		w.sort(rows)
		entries = w.entries
		return w.write()
	})
	if err != nil || !folded {
		return nil, err
	}
	return entries, nil
}

func (db *DB) rows(ctx context.Context, tx *sqlitefile.Tx, ids []string) (map[string]*graph.Row, error) {
	found := make(map[string]*graph.Row, len(ids))
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode ids: %w", err)
	}
	rows, err := tx.Stmt(db.stmts.rows).QueryContext(ctx, string(list), tx.Num)
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

// writer writes the rows of one batch.
type writer struct {
	ctx     context.Context
	tx      *sqlitefile.Tx
	db      *statements
	next    int64   // the key used last
	entries []entry // changed or removed, by position
	buf     []byte
}

func (w *writer) sort(rows map[string]*graph.Row) {
	w.entries = make([]entry, 0, len(rows))
	for id, r := range rows {
		if r.Changed || r.Removed {
			w.entries = append(w.entries, entry{id, r})
		}
	}
	slices.SortFunc(w.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), strings.Compare(a.id, b.id))
	})
}

func (w *writer) write() error {
	var remove []int64
	var inserts []entry
	for _, e := range w.entries {
		switch {
		case e.Removed:
			remove = append(remove, e.Key)
		case e.Key == 0:
			inserts = append(inserts, e)
			if e.Old != 0 {
				remove = append(remove, e.Old)
			}
		default:
			w.buf = e.Row.Append(w.buf[:0])
			if _, err := w.tx.Stmt(w.db.update).ExecContext(w.ctx, w.buf, e.Key); err != nil {
				return fmt.Errorf("update node %q: %w", e.id, err)
			}
		}
	}
	if len(remove) > 0 {
		keys, err := json.Marshal(remove)
		if err != nil {
			return fmt.Errorf("encode keys: %w", err)
		}
		if _, err := w.tx.ExecContext(w.ctx, "DELETE FROM nodes WHERE key IN (SELECT value FROM json_each(?))", string(keys)); err != nil {
			return fmt.Errorf("remove nodes: %w", err)
		}
	}
	if len(inserts) == 0 {
		return nil
	}
	low, high := sqlitefile.KeyRange(w.tx.Num)
	if err := w.tx.Stmt(w.db.lastKey).QueryRowContext(w.ctx, low, low, high).Scan(&w.next); err != nil {
		return fmt.Errorf("read last key: %w", err)
	}
	for some := range slices.Chunk(inserts, insertRows) {
		if err := w.insert(some); err != nil {
			return fmt.Errorf("insert nodes: %w", err)
		}
	}
	return nil
}

func (w *writer) insert(some []entry) error {
	args := make([]any, 0, 4*len(some))
	ends := make([]int, 0, len(some))
	w.buf = w.buf[:0]
	for _, e := range some {
		w.buf = e.Row.Append(w.buf)
		ends = append(ends, len(w.buf))
	}
	start := 0
	for i, e := range some {
		w.next++
		args = append(args, w.next, w.tx.Num, e.id, w.buf[start:ends[i]:ends[i]])
		start = ends[i]
	}
	if len(some) == insertRows {
		_, err := w.tx.Stmt(w.db.insert).ExecContext(w.ctx, args...)
		return err
	}
	_, err := w.tx.ExecContext(w.ctx, insertQuery(len(some)), args...)
	return err
}

// Reset implements graph.Driver.
func (db *DB) Reset(ctx context.Context, tenant string) error {
	err := db.tenants.Replace(tenant, func() error { return db.file.Clear(ctx, tenant, "nodes") })
	if err != nil {
		return fmt.Errorf("reset graph: %w", db.file.Named(err))
	}
	return nil
}
