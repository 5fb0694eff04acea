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
// The file is a projection: it can be deleted and is then folded from the log again.
// Therefore synchronous is NORMAL (a power cut may cost the last batches, never a torn
// one), and the checkpoint goes with its rows. Removed nodes are overwritten
// (secure_delete); Scrub empties the write-ahead log as well.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/internal/resident"
)

// Config says where and how. Only Path is required.
type Config struct {
	Path        string // the file; its folder must exist
	MemoryBytes int64  // cap of all adjacencies together; default 512 MiB. The tenant in use is kept even above it
	Readers     int    // connections that read; default 2 per CPU, at least 4
}

// DB is a Driver. It is safe for concurrent use. One process may have the file open.
type DB struct {
	write, read *sql.DB
	stmts       statements
	tenants     *resident.Set[*adjacency]
	upTo        sync.Map // by tenant: the checkpoint as the last Apply left it
}

var _ graph.Driver = (*DB)(nil)

const schema = `
CREATE TABLE IF NOT EXISTS tenants (
	num        INTEGER PRIMARY KEY,
	name       TEXT NOT NULL UNIQUE,
	checkpoint INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS nodes (
	key    INTEGER PRIMARY KEY,
	tenant INTEGER NOT NULL,
	id     TEXT NOT NULL,
	data   BLOB NOT NULL,
	UNIQUE (tenant, id)
);
`

// keyRange returns the bounds of a tenant's keys, both included; the first is not used.
func keyRange(num int64) (low, high int64) { return num << 40, (num+1)<<40 - 1 }

// Open opens or creates the file.
func Open(ctx context.Context, c Config) (*DB, error) {
	if c.Path == "" {
		return nil, errors.New("open graph store: no path")
	}
	if c.MemoryBytes <= 0 {
		c.MemoryBytes = 512 << 20
	}
	if c.Readers <= 0 {
		c.Readers = max(4, 2*runtime.GOMAXPROCS(0))
	}
	if err := create(c.Path); err != nil {
		return nil, fmt.Errorf("open graph store: %w", err)
	}
	write, err := sql.Open("sqlite", dsn(c.Path, "_txlock=immediate"))
	if err != nil {
		return nil, fmt.Errorf("open graph store: %w", err)
	}
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite", dsn(c.Path, "_pragma=query_only(1)"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open graph store: %w", err), write.Close())
	}
	read.SetMaxOpenConns(c.Readers)
	read.SetMaxIdleConns(c.Readers)
	db := &DB{write: write, read: read}
	db.tenants = resident.New(c.MemoryBytes, db.load)
	if _, err := write.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("create graph tables: %w", named(err)), db.Close())
	}
	if err := db.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// create makes the file, for its owner alone, when there is none: SQLite would make it, and
// with it the files beside it, for everybody to read. A file that is there is not opened,
// as closing it would end SQLite's locks on it.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func dsn(path, option string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return u.String() + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)" +
		"&_pragma=secure_delete(1)&_pragma=cache_size(-8192)&_pragma=temp_store(MEMORY)&" + option
}

// Close closes the file. Calls under way fail.
func (db *DB) Close() error { return errors.Join(db.stmts.close(), db.read.Close(), db.write.Close()) }

// Scrub empties the write-ahead log, so that what was removed is in no file any more. It
// waits for readers, up to ten seconds.
func (db *DB) Scrub(ctx context.Context) error {
	var busy, frames, done int
	err := db.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done)
	if err != nil {
		return fmt.Errorf("scrub graph store: %w", named(err))
	}
	if busy != 0 {
		return errors.New("scrub graph store: a reader holds the write-ahead log")
	}
	return nil
}

// statements are prepared once: parsing would cost more than running them.
type statements struct {
	openTenant, moveCheckpoint, rows, lastKey, insert, update *sql.Stmt
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
		{&s.openTenant, `INSERT INTO tenants (name, checkpoint) VALUES (?, 0)
			ON CONFLICT (name) DO UPDATE SET name = name RETURNING num, checkpoint`},
		{&s.moveCheckpoint, "UPDATE tenants SET checkpoint = ? WHERE num = ?"},
		{&s.rows, "SELECT n.key, n.id, n.data FROM json_each(?) j CROSS JOIN nodes n ON n.tenant = ? AND n.id = j.value"},
		{&s.lastKey, "SELECT coalesce(max(key), ?) FROM nodes WHERE key BETWEEN ? AND ?"},
		{&s.insert, insertQuery(insertRows)},
		{&s.update, "UPDATE nodes SET data = ? WHERE key = ?"},
	} {
		stmt, err := db.write.PrepareContext(ctx, p.query)
		if err != nil {
			return fmt.Errorf("prepare graph statements: %w", err)
		}
		*p.stmt = stmt
	}
	return nil
}

func (s *statements) close() error {
	var err error
	for _, stmt := range []*sql.Stmt{s.openTenant, s.moveCheckpoint, s.rows, s.lastKey, s.insert, s.update} {
		if stmt != nil {
			err = errors.Join(err, stmt.Close())
		}
	}
	return err
}
