package sqlite

import (
	"context"
	"database/sql"
)

// statements are prepared once.
type statements struct {
	get                                                *sql.Stmt // on read
	heads, updateHead, setBody, setTokens, addAccesses *sql.Stmt // on write
}

func (s *statements) prepareStatements(ctx context.Context, f *File) error {
	return f.Prepare(ctx, []Statement{
		{To: &s.get, On: f.Read, Query: `SELECT i.key, i.id, i.tokens, i.head, i.body FROM json_each(?) j
			CROSS JOIN items i ON i.tenant = ` + TenantNum + ` AND i.id = j.value WHERE i.tokens >= 0`},
		{To: &s.heads, On: f.Write, Query: `SELECT i.key, i.id, i.head FROM json_each(?) j
			CROSS JOIN items i ON i.tenant = ? AND i.id = j.value`},
		{To: &s.updateHead, On: f.Write, Query: "UPDATE items SET head = ? WHERE key = ?"},
		{To: &s.setTokens, On: f.Write, Query: "UPDATE items SET tokens = ? WHERE tenant = ? AND id = ? AND tokens >= 0"},
		{To: &s.addAccesses, On: f.Write, Query: `INSERT INTO accesses (key, sum, entries)
			SELECT coalesce(max(key), ?) + 1, ?, ? FROM accesses WHERE key BETWEEN ? AND ?`},
		{To: &s.setBody, On: f.Write, Query: "UPDATE items SET tokens = ?, head = ?, body = ? WHERE key = ?"},
	})
}
