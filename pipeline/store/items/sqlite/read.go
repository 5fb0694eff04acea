package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"satchel/pipeline/store/internal/sqlitefile"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// Checkpoint implements items.Rows.
func (db *DB) Checkpoint(ctx context.Context, tenant string) (int64, error) {
	at, err := db.file.Checkpoint(ctx, tenant)
	if err != nil {
		return 0, fmt.Errorf("read items checkpoint: %w", err)
	}
	return at, nil
}

// Get implements items.Rows. Many ids are read over two connections at once.
func (db *DB) Get(ctx context.Context, tenant string, ids []string) ([]schemas.Record, error) {
	const many = 48
	if len(ids) < many {
		return db.get(ctx, tenant, ids)
	}
	var first, second []schemas.Record
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		second, err = db.get(ctx, tenant, ids[len(ids)/2:])
		return err
	})
	first, err := db.get(ctx, tenant, ids[:len(ids)/2])
	if err := errors.Join(err, both.Wait()); err != nil {
		return nil, err
	}
	return append(first, second...), nil
}

func (db *DB) get(ctx context.Context, tenant string, ids []string) ([]schemas.Record, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode ids: %w", err)
	}
	rows, err := db.stmts.get.QueryContext(ctx, string(list), tenant)
	if err != nil {
		return nil, fmt.Errorf("get items: %w", db.file.Named(err))
	}
	out := make([]schemas.Record, 0, len(ids))
	err = eachRecord(rows, func(r *schemas.Record) bool {
		out = append(out, *r)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("get items: %w", db.file.Named(err))
	}
	return out, nil
}

// Scan implements items.Rows.
func (db *DB) Scan(ctx context.Context, tenant string, sel items.Selection, yield func(*schemas.Record) bool) error {
	query := `SELECT id, tokens, head, body FROM items
		WHERE tenant = ` + sqlitefile.TenantNum + ` AND tokens >= 0 ORDER BY id`
	if sel == items.Uncounted {
		query = `SELECT id, tokens, head, body FROM items INDEXED BY uncounted
			WHERE tenant = ` + sqlitefile.TenantNum + ` AND tokens = 0`
	}
	rows, err := db.file.Read.QueryContext(ctx, query, tenant)
	if err == nil {
		err = eachRecord(rows, yield)
	}
	if err != nil {
		return fmt.Errorf("scan items: %w", db.file.Named(err))
	}
	return nil
}

// eachRecord decodes and closes rows.
func eachRecord(rows *sql.Rows, yield func(*schemas.Record) bool) error {
	defer rows.Close()
	var id string
	var tokens int
	var head, body sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&id, &tokens, &head, &body); err != nil {
			return err
		}
		r, err := items.DecodeRecord(id, tokens, head, body)
		if err != nil {
			return fmt.Errorf("item %q: %w", id, err)
		}
		if !yield(&r) {
			return nil
		}
	}
	return rows.Err()
}

// load reads a tenant's directory.
func (db *DB) load(ctx context.Context, tenant string) (dir *directory, err error) {
	tx, err := db.file.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("load items: %w", db.file.Named(err))
	}
	defer func() { err = errors.Join(err, sqlitefile.RolledBack(tx.Rollback())) }()
	var num, upTo, count int64
	err = tx.QueryRowContext(ctx, "SELECT num, checkpoint FROM tenants WHERE name = ?", tenant).Scan(&num, &upTo)
	if errors.Is(err, sql.ErrNoRows) {
		return newDirectory(0), nil
	}
	low, high := sqlitefile.KeyRange(num)
	if err == nil { // rows that were erased leave gaps: this is an upper bound
		err = tx.QueryRowContext(ctx, "SELECT coalesce(max(key), ?) - ? FROM items WHERE key BETWEEN ? AND ?", low, low, low, high).Scan(&count)
	}
	if err != nil {
		return nil, fmt.Errorf("load items: %w", db.file.Named(err))
	}
	rows, err := tx.QueryContext(ctx, "SELECT id, head FROM items WHERE key BETWEEN ? AND ? AND tokens >= 0 ORDER BY key", low, high)
	if err != nil {
		return nil, fmt.Errorf("load items: %w", db.file.Named(err))
	}
	defer rows.Close()
	dir = newDirectory(int(count))
	dir.upTo = upTo
	codes, last := map[string]uint32{}, int64(0)
	var id, head sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&id, &head); err != nil {
			return nil, fmt.Errorf("load items: %w", db.file.Named(err))
		}
		h, code, err := items.DecodeHeadLess(head)
		if err == nil && h.First <= last {
			err = items.ErrCorrupt
		}
		if err != nil {
			return nil, fmt.Errorf("load item %q: %w", id, err)
		}
		last = h.First
		p, err := dir.profileOf(codes, code, h.Session)
		if err != nil {
			return nil, fmt.Errorf("load item %q: %w", id, err)
		}
		dir.put(string(id), &h, p)
	}
	dir.settle()
	return dir, db.file.Named(rows.Err())
}
