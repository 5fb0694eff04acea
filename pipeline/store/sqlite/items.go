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

	"satchel/pipeline/store/items"
)

// Items is a Driver. It is safe for concurrent use. One process may have the file open.
type Items struct {
	index[*directory]
	items *Table
	stmts statements
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
func OpenItems(ctx context.Context, c IndexConfig) (*Items, error) {
	db := &Items{index: index[*directory]{store: "item store", rows: "items"}}
	f := FileConfig{Version: itemsSchemaVersion, Schema: itemsSchema, CacheKiB: 16384, Corrupt: items.ErrCorrupt}
	err := db.open(ctx, c, f, db.loadDirectory, func(file *File) (err error) {
		if err = db.stmts.prepareStatements(ctx, file); err == nil {
			db.items, err = file.Table(ctx, "items", "id", "tokens", "head", "body")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return db, nil
}
