// Items keeps items in a Postgres database: the items.Driver for many workers.
// It owns the schema satchel_items (schema.go). Any number of processes may use it at the
// same time: Apply holds the tenant's row. Nothing is kept in memory, so every process
// sees what another has applied.
//
// The tables are a projection: they can be dropped and are then folded from the log
// again. Therefore a commit does not wait for the disk (synchronous_commit is off): a
// crash may cost the last batches, with their checkpoint.

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// ItemsConfig says where the database is. URL is required.
type ItemsConfig struct {
	URL      string // a postgres:// URL
	Schema   string // holds the tables; "" is satchel_items
	MaxConns int    // most connections; 0 is 8
}

// Items is an items.Driver.
type Items struct {
	pool *pgxpool.Pool
}

var _ items.Driver = (*Items)(nil)

// OpenItems connects and makes the tables when they are not there.
func OpenItems(ctx context.Context, cfg ItemsConfig) (*Items, error) {
	cfg.Schema = cmp.Or(cfg.Schema, "satchel_items")
	pool, err := OpenPool(ctx, PoolConfig{URL: cfg.URL, Schema: cfg.Schema, Version: itemsSchemaVersion, Tables: itemsTables, MaxConns: cfg.MaxConns,
		Settings: map[string]string{"synchronous_commit": "off"}})
	if err != nil {
		return nil, fmt.Errorf("open item store: %w", err)
	}
	return &Items{pool: pool}, nil
}

// Close waits for calls under way and closes the connections.
func (db *Items) Close() error {
	db.pool.Close()
	return nil
}

// Scrub vacuums what erased items have left. What Postgres keeps beside its tables, in
// the free space of pages until it is used again and in the write-ahead log until it is
// recycled, is beyond it.
func (db *Items) Scrub(ctx context.Context) error {
	for _, table := range []string{"items", "speakers"} {
		if _, err := db.pool.Exec(ctx, "VACUUM "+table); err != nil {
			return wrapItems("scrub item store", err)
		}
	}
	return nil
}

// wrapItems names what was done; damage that Postgres found is items.ErrCorrupt.
func wrapItems(what string, err error) error {
	if err == nil {
		return nil
	}
	if Classify(err) == Damaged {
		return fmt.Errorf("%s: %w: %w", what, items.ErrCorrupt, CleanError(err))
	}
	return fmt.Errorf("%s: %w", what, CleanError(err))
}

// SetTokens implements items.Rows.
func (db *Items) SetTokens(ctx context.Context, tenant string, counts map[string]int) error {
	var ids []string
	var tokens []int32
	for id, n := range counts {
		if n >= 1 {
			ids = append(ids, id)
			tokens = append(tokens, int32(n))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	err := UpdateTenant(ctx, db.pool, tenant, func(tx pgx.Tx, row Tenant) error {
		_, err := tx.Exec(ctx, `UPDATE items i SET tokens = u.tokens FROM unnest($2::text[], $3::int[]) u (id, tokens)
			WHERE i.tenant = $1 AND i.id = u.id AND i.tokens >= 0`, row.ID, ids, tokens)
		return err
	})
	return wrapItems("set token counts", err)
}

// Reset implements items.Rows.
func (db *Items) Reset(ctx context.Context, tenant string) error {
	err := UpdateTenant(ctx, db.pool, tenant, func(tx pgx.Tx, row Tenant) error {
		batch := &pgx.Batch{}
		batch.Queue("DELETE FROM items WHERE tenant = $1", row.ID)
		batch.Queue("DELETE FROM speakers WHERE tenant = $1", row.ID)
		batch.Queue("UPDATE tenants SET checkpoint = 0, items = 0, users = 0, turns = 0 WHERE id = $1", row.ID)
		return tx.SendBatch(ctx, batch).Close()
	})
	return wrapItems("reset items", err)
}

// itemsTenantID is the id of the tenant whose name is the first parameter.
const itemsTenantID = "(SELECT id FROM tenants WHERE name = $1)"

// Checkpoint implements items.Rows.
func (db *Items) Checkpoint(ctx context.Context, tenant string) (int64, error) {
	var at int64
	err := db.pool.QueryRow(ctx, "SELECT checkpoint FROM tenants WHERE name = $1", tenant).Scan(&at)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return at, wrapItems("read items checkpoint", err)
}

// Get implements items.Rows.
func (db *Items) Get(ctx context.Context, tenant string, ids []string) ([]schemas.Record, error) {
	rows, err := db.pool.Query(ctx, "SELECT id, tokens, head, body FROM items WHERE tenant = "+itemsTenantID+" AND id = ANY ($2) AND tokens >= 0", tenant, ids)
	if err != nil {
		return nil, wrapItems("get items", err)
	}
	found := make(map[string]schemas.Record, len(ids))
	err = eachRecord(rows, func(r *schemas.Record) bool {
		found[r.ID] = *r
		return true
	})
	if err != nil {
		return nil, wrapItems("get items", err)
	}
	out := make([]schemas.Record, 0, len(found))
	for _, id := range ids {
		if r, ok := found[id]; ok {
			out = append(out, r)
		}
	}
	return out, nil
}

// scanPage is how many records Scan reads at a time.
const scanPage = 500

// Scan implements items.Rows, page by page on one snapshot.
func (db *Items) Scan(ctx context.Context, tenant string, sel items.Selection, yield func(*schemas.Record) bool) error {
	condition := "tokens >= 0"
	if sel == items.Uncounted {
		condition = "tokens = 0"
	}
	query := "SELECT id, tokens, head, body FROM items WHERE tenant = " + itemsTenantID + " AND " + condition + " AND id > $2 ORDER BY id LIMIT $3"
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, db.pool, snapshot, func(tx pgx.Tx) error {
		for after, more := "", true; more; {
			rows, err := tx.Query(ctx, query, tenant, after, scanPage)
			if err != nil {
				return err
			}
			n := 0
			wanted := true
			err = eachRecord(rows, func(r *schemas.Record) bool {
				n = n + 1
				after = r.ID
				wanted = wanted && yield(r)
				return wanted
			})
			if err != nil {
				return err
			}
			more = wanted && n == scanPage
		}
		return nil
	})
	return wrapItems("scan items", err)
}

// eachRecord decodes and closes rows.
func eachRecord(rows pgx.Rows, yield func(*schemas.Record) bool) error {
	defer rows.Close()
	for rows.Next() {
		var id string
		var tokens int
		var head, body []byte
		if err := rows.Scan(&id, &tokens, &head, &body); err != nil {
			return err
		}
		r, err := items.DecodeRecord(id, tokens, head, body)
		if err != nil {
			return fmt.Errorf("item %q: %w", id, err)
		}
		if !yield(&r) {
			return nil
		}
	}
	return rows.Err()
}
