package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// statements are prepared once: parsing would cost more than running them.
type statements struct {
	get, checkpoint                                                                    *sql.Stmt // on read
	openTenant, moveCheckpoint, heads, lastKey, insert, updateHead, setBody, setTokens *sql.Stmt // on write
}

const (
	tenantNum  = "(SELECT num FROM tenants WHERE name = ?)"
	insertHead = "INSERT INTO items (key, tenant, id, tokens, head, body) VALUES "
	insertRow  = "(?,?,?,?,?,?)"
)

func insertQuery(rows int) string {
	return insertHead + insertRow + strings.Repeat(","+insertRow, rows-1)
}

func (db *DB) prepare(ctx context.Context) error {
	s := &db.stmts
	for _, p := range []struct {
		stmt  **sql.Stmt
		on    *sql.DB
		query string
	}{
		{&s.checkpoint, db.read, "SELECT checkpoint FROM tenants WHERE name = ?"},
		{&s.get, db.read, `SELECT i.id, i.tokens, i.head, i.body FROM json_each(?) j
			CROSS JOIN items i ON i.tenant = ` + tenantNum + ` AND i.id = j.value WHERE i.tokens >= 0`},
		{&s.openTenant, db.write, `INSERT INTO tenants (name, checkpoint) VALUES (?, 0)
			ON CONFLICT (name) DO UPDATE SET name = name RETURNING num, checkpoint`},
		{&s.moveCheckpoint, db.write, "UPDATE tenants SET checkpoint = ? WHERE num = ?"},
		{&s.heads, db.write, `SELECT i.key, i.id, i.head FROM json_each(?) j
			CROSS JOIN items i ON i.tenant = ? AND i.id = j.value`},
		{&s.lastKey, db.write, "SELECT coalesce(max(key), ?) FROM items WHERE key BETWEEN ? AND ?"},
		{&s.insert, db.write, insertQuery(insertRows)},
		{&s.updateHead, db.write, "UPDATE items SET head = ? WHERE key = ?"},
		{&s.setTokens, db.write, "UPDATE items SET tokens = ? WHERE tenant = ? AND id = ? AND tokens >= 0"},
		{&s.setBody, db.write, "UPDATE items SET tokens = ?, head = ?, body = ? WHERE key = ?"},
	} {
		stmt, err := p.on.PrepareContext(ctx, p.query)
		if err != nil {
			return fmt.Errorf("prepare item statements: %w", err)
		}
		*p.stmt = stmt
	}
	return nil
}

func (s *statements) close() error {
	var err error
	for _, stmt := range []*sql.Stmt{s.get, s.checkpoint, s.openTenant, s.moveCheckpoint, s.heads, s.lastKey,
		s.insert, s.updateHead, s.setBody, s.setTokens} {
		if stmt != nil {
			err = errors.Join(err, stmt.Close())
		}
	}
	return err
}
