package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// Get implements items.Rows.
func (db *Items) Get(ctx context.Context, tenant string, ids []string) ([]schemas.Record, error) {
	out, err := db.readRecords(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	if err := db.completeRecords(ctx, tenant, out); err != nil {
		return nil, fmt.Errorf("get items: %w", err)
	}
	return out, nil
}

// readRecords returns what rows say of items. Many ids are read over two connections at once.
func (db *Items) readRecords(ctx context.Context, tenant string, ids []string) ([]schemas.Record, error) {
	const many = 48
	if len(ids) < many {
		return db.queryRecords(ctx, tenant, ids)
	}
	var first, second []schemas.Record
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		second, err = db.queryRecords(ctx, tenant, ids[len(ids)/2:])
		return err
	})
	first, err := db.queryRecords(ctx, tenant, ids[:len(ids)/2])
	if err := errors.Join(err, both.Wait()); err != nil {
		return nil, err
	}
	return append(first, second...), nil
}

func (db *Items) queryRecords(ctx context.Context, tenant string, ids []string) ([]schemas.Record, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode ids: %w", err)
	}
	rows, err := db.stmts.get.QueryContext(ctx, string(list), tenant)
	if err != nil {
		return nil, fmt.Errorf("get items: %w", db.file.Named(err))
	}
	out := make([]schemas.Record, 0, len(ids))
	if _, err := eachRecord(rows, func(r *schemas.Record) { out = append(out, *r) }); err != nil {
		return nil, fmt.Errorf("get items: %w", db.file.Named(err))
	}
	return out, nil
}

// How many rows Scan reads before it hands them on.
const (
	scanned          = 512
	scannedUncounted = 64 // as many as are counted at a time
)

// Scan implements items.Rows. It reads some rows at a time, since the directory, which
// completes them, may have to be loaded over a connection of its own.
func (db *Items) Scan(ctx context.Context, tenant string, sel items.Selection, yield func(*schemas.Record) bool) error {
	query := `SELECT key, id, tokens, head, body FROM items
		WHERE tenant = ` + TenantNum + ` AND tokens >= 0 AND id > ? ORDER BY id LIMIT ?`
	after := any("")
	n := scanned
	if sel == items.Uncounted {
		query = `SELECT key, id, tokens, head, body FROM items INDEXED BY uncounted
			WHERE tenant = ` + TenantNum + ` AND tokens = 0 AND key > ? ORDER BY key LIMIT ?`
		after = 0
		n = scannedUncounted
	}
	for {
		some, last, err := db.readNextRows(ctx, query, tenant, after, n)
		if err != nil {
			return fmt.Errorf("scan items: %w", db.file.Named(err))
		}
		if err := db.completeRecords(ctx, tenant, some); err != nil {
			return fmt.Errorf("scan items: %w", err)
		}
		for i := range some {
			if !yield(&some[i]) {
				return nil
			}
		}
		if len(some) < n {
			return nil
		}
		after = last
		if sel == items.ByID {
			after = some[len(some)-1].ID
		}
	}
}

// readNextRows returns the next n rows of a scan, and the key of the last.
func (db *Items) readNextRows(ctx context.Context, query, tenant string, after any, n int) (some []schemas.Record, last int64, err error) {
	rows, err := db.file.Read.QueryContext(ctx, query, tenant, after, n)
	if err != nil {
		return nil, 0, err
	}
	some = make([]schemas.Record, 0, n)
	last, err = eachRecord(rows, func(r *schemas.Record) { some = append(some, *r) })
	return some, last, err
}

// completeRecords sets what rows do not say of items.
func (db *Items) completeRecords(ctx context.Context, tenant string, of []schemas.Record) error {
	if len(of) == 0 {
		return nil
	}
	return db.tenants.View(ctx, tenant, func(d *directory) {
		for i := range of {
			d.completeRecord(&of[i])
		}
	})
}

// eachRecord decodes and closes rows, and returns the key of the last.
func eachRecord(rows *sql.Rows, yield func(*schemas.Record)) (key int64, err error) {
	defer rows.Close()
	var id string
	var tokens int
	var head, body sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&key, &id, &tokens, &head, &body); err != nil {
			return 0, err
		}
		r, err := items.DecodeRecord(id, tokens, head, body)
		if err != nil {
			return 0, fmt.Errorf("item %q: %w", id, err)
		}
		yield(&r)
	}
	return key, rows.Err()
}

// loadDirectory reads a tenant's directory.
func (db *Items) loadDirectory(ctx context.Context, tenant string) (*directory, error) {
	dir := newDirectory(0)
	err := db.file.Load(ctx, tenant, func(tx *sql.Tx, low, high, checkpoint int64) error {
		var count int64 // rows that were erased leave gaps: this is an upper bound
		err := tx.QueryRowContext(ctx, "SELECT coalesce(max(key), ?) - ? FROM items WHERE key BETWEEN ? AND ?", low, low, low, high).Scan(&count)
		if err != nil {
			return err
		}
		dir = newDirectory(int(count))
		dir.upTo = checkpoint
		if err := dir.loadHeads(ctx, tx, low, high); err != nil {
			return err
		}
		return dir.loadAccesses(ctx, tx, low, high)
	})
	if err != nil {
		return nil, fmt.Errorf("load items: %w", err)
	}
	return dir, nil
}

func (d *directory) loadHeads(ctx context.Context, tx *sql.Tx, low, high int64) error {
	rows, err := tx.QueryContext(ctx, "SELECT id, head FROM items WHERE key BETWEEN ? AND ? AND tokens >= 0 ORDER BY key", low, high)
	if err != nil {
		return err
	}
	defer rows.Close()
	codes := map[string]uint32{}
	last := int64(0)
	var id, head sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&id, &head); err != nil {
			return err
		}
		h, code, err := items.DecodeWithoutFacets(head)
		if err == nil && h.First <= last {
			err = items.ErrCorrupt
		}
		if err != nil {
			return fmt.Errorf("item %q: %w", id, err)
		}
		last = h.First
		p, err := d.profileOf(codes, code, h.Session)
		if err != nil {
			return fmt.Errorf("item %q: %w", id, err)
		}
		d.putDirectoryItem(string(id), &h, p)
	}
	d.refreshDirectory()
	return rows.Err()
}

func (d *directory) loadAccesses(ctx context.Context, tx *sql.Tx, low, high int64) error {
	rows, err := tx.QueryContext(ctx, "SELECT sum, entries FROM accesses WHERE key BETWEEN ? AND ? ORDER BY key", low, high)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var sum bool
		var raw string
		if err := rows.Scan(&sum, &raw); err != nil {
			return err
		}
		if err := d.addAccesses(sum, raw); err != nil {
			return err
		}
	}
	return rows.Err()
}
