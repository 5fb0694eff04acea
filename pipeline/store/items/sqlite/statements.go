package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"satchel/pipeline/store/internal/sqlitefile"
	"strings"
)

// statements are prepared once: parsing would cost more than running them.
type statements struct {
	get                                                                 *sql.Stmt // on read
	heads, lastKey, insert, updateHead, setBody, setTokens, addAccesses *sql.Stmt // on write
}

const (
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
		{&s.get, db.file.Read, `SELECT i.key, i.id, i.tokens, i.head, i.body FROM json_each(?) j
			CROSS JOIN items i ON i.tenant = ` + sqlitefile.TenantNum + ` AND i.id = j.value WHERE i.tokens >= 0`},
		{&s.heads, db.file.Write, `SELECT i.key, i.id, i.head FROM json_each(?) j
			CROSS JOIN items i ON i.tenant = ? AND i.id = j.value`},
		{&s.lastKey, db.file.Write, "SELECT coalesce(max(key), ?) FROM items WHERE key BETWEEN ? AND ?"},
		{&s.insert, db.file.Write, insertQuery(insertRows)},
		{&s.updateHead, db.file.Write, "UPDATE items SET head = ? WHERE key = ?"},
		{&s.setTokens, db.file.Write, "UPDATE items SET tokens = ? WHERE tenant = ? AND id = ? AND tokens >= 0"},
		{&s.addAccesses, db.file.Write, `INSERT INTO accesses (key, sum, entries)
			SELECT coalesce(max(key), ?) + 1, ?, ? FROM accesses WHERE key BETWEEN ? AND ?`},
		{&s.setBody, db.file.Write, "UPDATE items SET tokens = ?, head = ?, body = ? WHERE key = ?"},
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
	return sqlitefile.CloseAll(s.get, s.heads, s.lastKey, s.insert, s.updateHead, s.setBody, s.setTokens, s.addAccesses)
}
