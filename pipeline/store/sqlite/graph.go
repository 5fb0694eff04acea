// Graph keeps the graph in one SQLite file (WAL), with the adjacency of every
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
// that costs and saves is said in [File].

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
)

// GraphConfig says where and how. Only Path is required.
type GraphConfig struct {
	Path        string // the file; its folder must exist
	MemoryBytes int64  // cap of all adjacencies together; default 512 MiB. The tenant in use is kept even above it
	Readers     int    // connections that read; default 2 per CPU, at least 4

	// OnCorrupt is told once of the first sign of damage after Open; nil: nobody is. It MUST
	// NOT close the DB.
	OnCorrupt func(error)
}

// Graph is a Driver. It is safe for concurrent use. One process may have the file open.
type Graph struct {
	file         *File
	nodes        *Table
	rows, update *sql.Stmt
	tenants      *TenantCache[*adjacency]
}

var _ graph.Driver = (*Graph)(nil)

// graphSchemaVersion is that of schema and of what rows hold.
const graphSchemaVersion = 1

const graphSchema = `
CREATE TABLE nodes (
	key    INTEGER PRIMARY KEY,
	tenant INTEGER NOT NULL,
	id     TEXT NOT NULL,
	data   BLOB NOT NULL,
	UNIQUE (tenant, id)
);
`

// OpenGraph opens or creates the file.
func OpenGraph(ctx context.Context, c GraphConfig) (*Graph, error) {
	if c.MemoryBytes <= 0 {
		c.MemoryBytes = 512 << 20
	}
	file, err := OpenFile(ctx, FileConfig{
		Path: c.Path, Version: graphSchemaVersion, Schema: graphSchema, CacheKiB: 8192, Readers: c.Readers, Corrupt: graph.ErrCorrupt, OnCorrupt: c.OnCorrupt,
	})
	if err != nil {
		return nil, fmt.Errorf("open graph store: %w", err)
	}
	db := &Graph{file: file}
	db.tenants = NewTenantCache(c.MemoryBytes, db.load)
	err = file.Prepare(ctx, []Statement{
		{To: &db.rows, On: file.Write, Query: "SELECT n.key, n.id, n.data FROM json_each(?) j CROSS JOIN nodes n ON n.tenant = ? AND n.id = j.value"},
		{To: &db.update, On: file.Write, Query: "UPDATE nodes SET data = ? WHERE key = ?"},
	})
	if err == nil {
		db.nodes, err = file.Table(ctx, "nodes", "id", "data")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open graph store: %w", err), db.Close())
	}
	return db, nil
}

// Close closes the file. Calls under way fail.
func (db *Graph) Close() error { return db.file.Close() }

// Evict puts a tenant's adjacency out of memory; it is loaded again when it is asked for.
func (db *Graph) Evict(_ context.Context, s scope.Scope) error {
	db.tenants.Drop(s.Tenant())
	return s.Check()
}

// Check looks for damage in the whole file: ErrCorrupt.
func (db *Graph) Check(ctx context.Context) error { return db.file.Check(ctx) }

// Scrub empties the write-ahead log, so that what was removed is in no file any more. It
// waits for readers, up to ten seconds.
func (db *Graph) Scrub(ctx context.Context) error {
	if err := db.file.Scrub(ctx); err != nil {
		return fmt.Errorf("scrub graph store: %w", err)
	}
	return nil
}
