package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// insertRows is how many rows one statement inserts.
const insertRows = 50

// Table is a table of a driver's whose first columns are the key and the tenant.
type Table struct {
	name, columns   string
	values          string // of one row
	insert, lastKey *sql.Stmt
}

// Table prepares to write a table that Config.Schema made. columns are those after the key
// and the tenant.
func (f *File) Table(ctx context.Context, name string, columns ...string) (*Table, error) {
	t := &Table{name: name, columns: strings.Join(append([]string{"key", "tenant"}, columns...), ", "),
		values: "(?,?" + strings.Repeat(",?", len(columns)) + ")"}
	return t, f.Prepare(ctx, []Statement{
		{&t.insert, f.Write, t.makeInsertStatement(insertRows)},
		{&t.lastKey, f.Write, "SELECT coalesce(max(key), ?) FROM " + name + " WHERE key BETWEEN ? AND ?"},
	})
}

func (t *Table) makeInsertStatement(rows int) string {
	return "INSERT INTO " + t.name + " (" + t.columns + ") VALUES " + t.values + strings.Repeat(","+t.values, rows-1)
}

// Insert adds rows under new keys, in their order. values appends the columns of one row
// after the key and the tenant to args; what it appends to buf is kept until the rows are
// written.
func Insert[R any](tx *Tx, t *Table, rows []R, values func(args []any, buf []byte, row *R) ([]any, []byte)) error {
	if len(rows) == 0 {
		return nil
	}
	low, high := KeyRange(tx.Num)
	var key int64
	if err := tx.Stmt(t.lastKey).QueryRowContext(tx.ctx, low, low, high).Scan(&key); err != nil {
		return fmt.Errorf("read last key: %w", err)
	}
	var args []any
	var buf []byte
	for some := range slices.Chunk(rows, insertRows) {
		args = args[:0]
		buf = buf[:0]
		for i := range some {
			key++
			args, buf = values(append(args, key, tx.Num), buf, &some[i])
		}
		var err error
		if len(some) == insertRows {
			_, err = tx.Stmt(t.insert).ExecContext(tx.ctx, args...)
		} else {
			_, err = tx.ExecContext(tx.ctx, t.makeInsertStatement(len(some)), args...)
		}
		if err != nil {
			return fmt.Errorf("insert %s: %w", t.name, err)
		}
	}
	return nil
}

// Remove removes rows by their keys.
func (tx *Tx) Remove(t *Table, keys []int64) error {
	if len(keys) == 0 {
		return nil
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return fmt.Errorf("encode keys: %w", err)
	}
	if _, err := tx.ExecContext(tx.ctx, "DELETE FROM "+t.name+" WHERE key IN (SELECT value FROM json_each(?))", string(list)); err != nil {
		return fmt.Errorf("remove %s: %w", t.name, err)
	}
	return nil
}

// Rows queries a statement of Write whose parameters are ids, as a JSON list, and the tenant.
func (tx *Tx) Rows(s *sql.Stmt, ids []string) (*sql.Rows, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode ids: %w", err)
	}
	return tx.Stmt(s).QueryContext(tx.ctx, string(list), tx.Num)
}
