// Items keeps items in one SQLite file (WAL), with a directory of every
// loaded tenant in memory.
//
// Tables:
//
//	tenants  num, name, checkpoint
//	items    key, tenant, id, tokens (-1 while links wait for their item), head, body
//	accesses key, sum (whether it replaces what was before), entries: by Metadata.First, how often
//	         and when items were accessed beyond what their metadata say
//
// A key is the tenant's number times 2⁴⁰ plus a count, so that a tenant's rows lie
// together. Keys of a tenant ascend with Metadata.First: an item whose links came first moves
// to the end when it arrives. The directory relies on it.
//
// The file is a projection: it can be deleted and is then folded from the log again. What
// that costs and saves is said in [File].

package sqlite

import (
	"context"
	"errors"
	"fmt"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
)

// ItemsConfig says where and how. Only Path is required.
type ItemsConfig struct {
	Path        string // the file; its folder must exist
	MemoryBytes int64  // cap of all directories together; default 512 MiB. The tenant in use is kept even above it
	Readers     int    // connections that read; default 2 per CPU, at least 4

	// OnCorrupt is told once of the first sign of damage after Open; nil: nobody is. It MUST
	// NOT close the DB.
	OnCorrupt func(error)
}

// Items is a Driver. It is safe for concurrent use. One process may have the file open.
type Items struct {
	file  *File
	items *Table
	stmts statements
	dirs  *TenantCache[*directory]
}

var _ items.Driver = (*Items)(nil)

// itemsSchemaVersion is that of schema and of what rows hold.
const itemsSchemaVersion = 1

const itemsSchema = `
CREATE TABLE items (
	key    INTEGER PRIMARY KEY,
	tenant INTEGER NOT NULL,
	id     TEXT NOT NULL,
	tokens INTEGER NOT NULL,
	head   BLOB NOT NULL,
	body   BLOB NOT NULL,
	UNIQUE (tenant, id)
);
CREATE INDEX uncounted ON items (tenant) WHERE tokens = 0;
CREATE TABLE accesses (
	key     INTEGER PRIMARY KEY,
	sum     INTEGER NOT NULL,
	entries BLOB NOT NULL
);
`

// OpenItems opens or creates the file.
func OpenItems(ctx context.Context, c ItemsConfig) (*Items, error) {
	if c.MemoryBytes <= 0 {
		c.MemoryBytes = 512 << 20
	}
	file, err := OpenFile(ctx, FileConfig{
		Path: c.Path, Version: itemsSchemaVersion, Schema: itemsSchema, CacheKiB: 16384, Readers: c.Readers, Corrupt: items.ErrCorrupt, OnCorrupt: c.OnCorrupt,
	})
	if err != nil {
		return nil, fmt.Errorf("open item store: %w", err)
	}
	db := &Items{file: file}
	db.dirs = NewTenantCache(c.MemoryBytes, db.load)
	if err = db.stmts.prepare(ctx, file); err == nil {
		db.items, err = file.Table(ctx, "items", "id", "tokens", "head", "body")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open item store: %w", err), db.Close())
	}
	return db, nil
}

// Close closes the file. Calls under way fail.
func (db *Items) Close() error { return db.file.Close() }

// Evict puts a tenant's directory out of memory; it is loaded again when it is asked for.
func (db *Items) Evict(_ context.Context, s scope.Scope) error {
	db.dirs.Drop(s.Tenant())
	return s.Check()
}

// Check looks for damage in the whole file: ErrCorrupt.
func (db *Items) Check(ctx context.Context) error { return db.file.Check(ctx) }

// Scrub empties the write-ahead log, so that what was erased is in no file any more. It
// waits for readers, up to ten seconds.
func (db *Items) Scrub(ctx context.Context) error {
	if err := db.file.Scrub(ctx); err != nil {
		return fmt.Errorf("scrub item store: %w", err)
	}
	return nil
}
