// Package sqlite keeps items in one SQLite file (WAL), with a directory of every
// loaded tenant in memory.
//
// Tables:
//
//	tenants  num, name, checkpoint
//	items    key, tenant, id, tokens (-1 while links wait for their item), head, body
//	accesses key, sum (whether it replaces what was before), entries: by Head.First, how often
//	         and when items were accessed beyond what their heads say
//
// A key is the tenant's number times 2⁴⁰ plus a count, so that a tenant's rows lie
// together. Keys of a tenant ascend with Head.First: an item whose links came first moves
// to the end when it arrives. The directory relies on it.
//
// The file is a projection: it can be deleted and is then folded from the log again. What
// that costs and saves is said in [sqlitefile].
package sqlite

import (
	"context"
	"errors"
	"fmt"

	"satchel/pipeline/store/internal/resident"
	"satchel/pipeline/store/internal/sqlitefile"
	"satchel/pipeline/store/items"
)

// Config says where and how. Only Path is required.
type Config struct {
	Path        string // the file; its folder must exist
	MemoryBytes int64  // cap of all directories together; default 512 MiB. The tenant in use is kept even above it
	Readers     int    // connections that read; default 2 per CPU, at least 4
}

// DB is a Driver. It is safe for concurrent use. One process may have the file open.
type DB struct {
	file  *sqlitefile.File
	stmts statements
	dirs  *resident.Set[*directory]
}

var _ items.Driver = (*DB)(nil)

const schema = `
CREATE TABLE IF NOT EXISTS items (
	key    INTEGER PRIMARY KEY,
	tenant INTEGER NOT NULL,
	id     TEXT NOT NULL,
	tokens INTEGER NOT NULL,
	head   BLOB NOT NULL,
	body   BLOB NOT NULL,
	UNIQUE (tenant, id)
);
CREATE INDEX IF NOT EXISTS uncounted ON items (tenant) WHERE tokens = 0;
CREATE TABLE IF NOT EXISTS accesses (
	key     INTEGER PRIMARY KEY,
	sum     INTEGER NOT NULL,
	entries BLOB NOT NULL
);
`

// Open opens or creates the file.
func Open(ctx context.Context, c Config) (*DB, error) {
	if c.MemoryBytes <= 0 {
		c.MemoryBytes = 512 << 20
	}
	file, err := sqlitefile.Open(ctx, sqlitefile.Config{
		Path: c.Path, Schema: schema, CacheKiB: 16384, Readers: c.Readers, Corrupt: items.ErrCorrupt,
	})
	if err != nil {
		return nil, fmt.Errorf("open item store: %w", err)
	}
	db := &DB{file: file}
	db.dirs = resident.New(c.MemoryBytes, db.load)
	if err := db.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close closes the file. Calls under way fail.
func (db *DB) Close() error { return errors.Join(db.stmts.close(), db.file.Close()) }

// Scrub empties the write-ahead log, so that what was erased is in no file any more. It
// waits for readers, up to ten seconds.
func (db *DB) Scrub(ctx context.Context) error {
	if err := db.file.Scrub(ctx); err != nil {
		return fmt.Errorf("scrub item store: %w", err)
	}
	return nil
}
