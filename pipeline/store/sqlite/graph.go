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

	"satchel/pipeline/store/graph"
)

// Graph is a Driver. It is safe for concurrent use. One process may have the file open.
type Graph struct {
	index[*adjacency]
	nodes         *Table
	found, update *sql.Stmt
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
func OpenGraph(ctx context.Context, c IndexConfig) (*Graph, error) {
	db := &Graph{index: index[*adjacency]{store: "graph store", rows: "graph"}}
	f := FileConfig{Version: graphSchemaVersion, Schema: graphSchema, CacheKiB: 8192, Corrupt: graph.ErrCorrupt}
	err := db.open(ctx, c, f, db.loadAdjacency, func(file *File) error {
		err := file.Prepare(ctx, []Statement{
			{To: &db.found, On: file.Write, Query: "SELECT n.key, n.id, n.data FROM json_each(?) j CROSS JOIN nodes n ON n.tenant = ? AND n.id = j.value"},
			{To: &db.update, On: file.Write, Query: "UPDATE nodes SET data = ? WHERE key = ?"},
		})
		if err == nil {
			db.nodes, err = file.Table(ctx, "nodes", "id", "data")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return db, nil
}
