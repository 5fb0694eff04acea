// Package sqlite keeps the graph in one SQLite file (WAL), with the adjacency of every
// loaded tenant in memory.
//
// Tables:
//
//	tenants  num, name, checkpoint
//	nodes    key, tenant, id, data (graph.Row: facets and the edges that leave the node)
//
// A key is the tenant's number times 2⁴⁰ plus a count, so that a tenant's rows lie
// together.
//
// The file is a projection: it can be deleted and is then folded from the log again. What
// that costs and saves is said in [sqlitefile].
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/internal/resident"
	"satchel/pipeline/store/internal/sqlitefile"
)

// Config says where and how. Only Path is required.
type Config struct {
	Path        string // the file; its folder must exist
	MemoryBytes int64  // cap of all adjacencies together; default 512 MiB. The tenant in use is kept even above it
	Readers     int    // connections that read; default 2 per CPU, at least 4
}

// DB is a Driver. It is safe for concurrent use. One process may have the file open.
type DB struct {
	file    *sqlitefile.File
	stmts   statements
	tenants *resident.Set[*adjacency]
}

var _ graph.Driver = (*DB)(nil)

const schema = `
CREATE TABLE IF NOT EXISTS nodes (
	key    INTEGER PRIMARY KEY,
	tenant INTEGER NOT NULL,
	id     TEXT NOT NULL,
	data   BLOB NOT NULL,
	UNIQUE (tenant, id)
);
`

// Open opens or creates the file.
func Open(ctx context.Context, c Config) (*DB, error) {
	if c.MemoryBytes <= 0 {
		c.MemoryBytes = 512 << 20
	}
	file, err := sqlitefile.Open(ctx, sqlitefile.Config{
		Path: c.Path, Schema: schema, CacheKiB: 8192, Readers: c.Readers, Corrupt: graph.ErrCorrupt,
	})
	if err != nil {
		return nil, fmt.Errorf("open graph store: %w", err)
	}
	db := &DB{file: file}
	db.tenants = resident.New(c.MemoryBytes, db.load)
	if err := db.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close closes the file. Calls under way fail.
func (db *DB) Close() error { return errors.Join(db.stmts.close(), db.file.Close()) }

// Scrub empties the write-ahead log, so that what was removed is in no file any more. It
// waits for readers, up to ten seconds.
func (db *DB) Scrub(ctx context.Context) error {
	if err := db.file.Scrub(ctx); err != nil {
		return fmt.Errorf("scrub graph store: %w", err)
	}
	return nil
}

// statements are prepared once: parsing would cost more than running them.
type statements struct {
	rows, lastKey, insert, update *sql.Stmt
}

// insertRows is how many rows the prepared insert takes.
const insertRows = 50

func insertQuery(rows int) string {
	return "INSERT INTO nodes (key, tenant, id, data) VALUES (?,?,?,?)" + strings.Repeat(",(?,?,?,?)", rows-1)
}

func (db *DB) prepare(ctx context.Context) error {
	s := &db.stmts
	for _, p := range []struct {
		stmt  **sql.Stmt
		query string
	}{
		{&s.rows, "SELECT n.key, n.id, n.data FROM json_each(?) j CROSS JOIN nodes n ON n.tenant = ? AND n.id = j.value"},
		{&s.lastKey, "SELECT coalesce(max(key), ?) FROM nodes WHERE key BETWEEN ? AND ?"},
		{&s.insert, insertQuery(insertRows)},
		{&s.update, "UPDATE nodes SET data = ? WHERE key = ?"},
	} {
		stmt, err := db.file.Write.PrepareContext(ctx, p.query)
		if err != nil {
			return fmt.Errorf("prepare graph statements: %w", err)
		}
		*p.stmt = stmt
	}
	return nil
}

func (s *statements) close() error {
	return sqlitefile.CloseAll(s.rows, s.lastKey, s.insert, s.update)
}
