package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/store/graph"
)

// entry is a row that a batch writes, and what it was before.
type entry struct {
	id string
	*graph.Row
}

// Apply implements graph.Driver.
func (db *DB) Apply(ctx context.Context, tenant string, b *graph.Batch) error {
	return named(db.tenants.Commit(tenant, func() (func(*adjacency), error) {
		entries, err := db.commit(ctx, tenant, b)
		if err != nil || entries == nil {
			return nil, err
		}
		db.upTo.Store(tenant, b.UpTo)
		return func(a *adjacency) { a.update(entries, b.UpTo) }, nil
	}))
}

// commit writes a batch and returns its rows, nil when there was nothing to do.
func (db *DB) commit(ctx context.Context, tenant string, b *graph.Batch) (entries []entry, err error) {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer func() {
		if err != nil || entries == nil {
			err = errors.Join(err, rolledBack(tx.Rollback()))
		}
	}()
	num, checkpoint, err := db.openTenant(ctx, tx, tenant)
	if err != nil || b.UpTo <= checkpoint {
		return nil, err
	}
	rows, err := db.rows(ctx, tx, num, b.IDs())
	if err != nil {
		return nil, err
	}
	b.Fold(checkpoint, rows)
	w := writer{ctx: ctx, tx: tx, db: &db.stmts, num: num}
	w.sort(rows)
	if err := w.write(); err != nil {
		return nil, err
	}
	if _, err := tx.StmtContext(ctx, db.stmts.moveCheckpoint).ExecContext(ctx, b.UpTo, num); err != nil {
		return nil, fmt.Errorf("move checkpoint: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	return w.entries, nil
}

// rolledBack drops the error of a rollback that came after the transaction's end.
func rolledBack(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

func (db *DB) openTenant(ctx context.Context, tx *sql.Tx, name string) (num, checkpoint int64, err error) {
	err = tx.StmtContext(ctx, db.stmts.openTenant).QueryRowContext(ctx, name).Scan(&num, &checkpoint)
	if err != nil {
		return 0, 0, fmt.Errorf("read tenant: %w", err)
	}
	return num, checkpoint, nil
}

func (db *DB) rows(ctx context.Context, tx *sql.Tx, num int64, ids []string) (map[string]*graph.Row, error) {
	found := make(map[string]*graph.Row, len(ids))
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode ids: %w", err)
	}
	rows, err := tx.StmtContext(ctx, db.stmts.rows).QueryContext(ctx, string(list), num)
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
	tx      *sql.Tx
	db      *statements
	num     int64
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
			if _, err := w.tx.StmtContext(w.ctx, w.db.update).ExecContext(w.ctx, w.buf, e.Key); err != nil {
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
	low, high := keyRange(w.num)
	if err := w.tx.StmtContext(w.ctx, w.db.lastKey).QueryRowContext(w.ctx, low, low, high).Scan(&w.next); err != nil {
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
		args = append(args, w.next, w.num, e.id, w.buf[start:ends[i]:ends[i]])
		start = ends[i]
	}
	if len(some) == insertRows {
		_, err := w.tx.StmtContext(w.ctx, w.db.insert).ExecContext(w.ctx, args...)
		return err
	}
	_, err := w.tx.ExecContext(w.ctx, insertQuery(len(some)), args...)
	return err
}

// Reset implements graph.Driver.
func (db *DB) Reset(ctx context.Context, tenant string) error {
	return named(db.tenants.Replace(tenant, func() error {
		db.upTo.Delete(tenant)
		return db.clear(ctx, tenant)
	}))
}

func (db *DB) clear(ctx context.Context, tenant string) (err error) {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("reset graph: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("reset graph: %w", err), rolledBack(tx.Rollback()))
		}
	}()
	num, _, err := db.openTenant(ctx, tx, tenant)
	if err != nil {
		return err
	}
	low, high := keyRange(num)
	if _, err := tx.ExecContext(ctx, "DELETE FROM nodes WHERE key BETWEEN ? AND ?", low, high); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE tenants SET checkpoint = 0 WHERE num = ?", num); err != nil {
		return err
	}
	return tx.Commit()
}
