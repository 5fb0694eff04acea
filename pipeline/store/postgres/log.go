// Log keeps event logs in a Postgres database: the eventlog.Driver for many
// workers. It owns the schema satchel_log and every table in it (schema.go). Any number of
// processes may use it at the same time: a commit holds the rows of its tenants' heads, so
// that commits to a tenant come one after another and those to different tenants do not
// wait.
//
// A commit is one transaction of four round trips: the heads are locked and read, the
// checkpoint is locked, the keys are looked up, and everything is written and committed in
// one pipeline. synchronous_commit is never off.
//
// Content is erased by deleting its row; Scrub vacuums the tables. From then on no query
// finds it. What Postgres keeps beside its tables is beyond a client: free space of pages
// until it is used again, the write-ahead log until it is recycled, archives, standbys and
// backups.

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"satchel/pipeline/store/eventlog"
)

// LogConfig says where the database is. URL is required.
type LogConfig struct {
	// URL is a postgres:// URL.
	URL string
	// Schema holds the tables; "" is satchel_log.
	Schema string
	// MaxConns is the most connections; 0 is 8.
	MaxConns int
	// Timeout bounds a transaction, past which the database counts as away; 0 is 30 s.
	Timeout time.Duration
}

// Log is an eventlog.Driver.
type Log struct {
	pool    *pgxpool.Pool
	timeout time.Duration
}

var _ eventlog.Driver = (*Log)(nil)

// OpenLog connects and makes the tables when they are not there.
func OpenLog(ctx context.Context, cfg LogConfig) (*Log, error) {
	cfg.Schema = cmp.Or(cfg.Schema, "satchel_log")
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	pool, err := OpenPool(ctx, PoolConfig{
		URL: cfg.URL, Schema: cfg.Schema, Version: logSchemaVersion, Tables: logTables, MaxConns: cfg.MaxConns,
		AfterConnect: func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
			return err
		},
	})
	if err != nil {
		return nil, fmt.Errorf("open event log: %w", err)
	}
	return &Log{pool: pool, timeout: cfg.Timeout}, nil
}

// Drop removes schemas with every table in them, for good.
func Drop(ctx context.Context, url string, schemas ...string) error {
	if err := DropSchemas(ctx, url, schemas...); err != nil {
		return fmt.Errorf("drop schemas: %w", err)
	}
	return nil
}

// Update implements eventlog.Driver.
func (db *Log) Update(ctx context.Context, tenants []string, fn func(eventlog.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return Attempt(func() error { return db.runTransaction(ctx, tenants, fn) })
}

// runTransaction runs fn in one transaction. Once it has begun it is not cancelled: its caller
// would not know whether it was committed.
func (db *Log) runTransaction(ctx context.Context, tenants []string, fn func(eventlog.Tx) error) (err error) {
	waiting, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	conn, err := db.pool.Acquire(waiting)
	if err != nil {
		return storeError("connect", err)
	}
	defer conn.Release() // closes a connection that is still in a transaction
	ctx, cancelTx := context.WithTimeout(context.WithoutCancel(ctx), db.timeout)
	defer cancelTx()
	t := &tx{reader: reader{ctx: ctx, conn: conn.Conn()}, heads: make(map[string]*head, len(tenants))}
	if err := t.beginTransaction(tenants); err != nil {
		return errors.Join(err, t.rollBackTransaction())
	}
	if err := fn(t); err != nil {
		return errors.Join(err, t.rollBackTransaction())
	}
	t.lead.Queue("COMMIT")
	if err := t.flushLead(); err != nil {
		return errors.Join(err, t.rollBackTransaction())
	}
	return nil
}

// View implements eventlog.Driver. The snapshot is that of the first read.
func (db *Log) View(ctx context.Context, fn func(eventlog.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return storeError("connect", err)
	}
	defer conn.Release()
	r := &reader{ctx: ctx, conn: conn.Conn()}
	r.lead.Queue("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	return errors.Join(fn(r), r.rollBackTransaction())
}

// Scrub implements eventlog.Driver.
func (db *Log) Scrub(ctx context.Context) error {
	for _, table := range []string{"refs", "attachments", "content"} {
		if _, err := db.pool.Exec(ctx, "VACUUM "+table); err != nil {
			return storeError("vacuum "+table, err)
		}
	}
	return nil
}

// Check implements eventlog.Driver: it looks for rows that no constraint would let in,
// and examines the indexes by the extension amcheck where it is installed.
func (db *Log) Check(ctx context.Context) error {
	for what, query := range map[string]string{
		"an entry belongs to no tenant":              "SELECT count(*) FROM entries e LEFT JOIN tenants t ON t.id = e.tenant WHERE t.id IS NULL",
		"content belongs to no entry":                "SELECT count(*) FROM content c LEFT JOIN entries e USING (tenant, position) WHERE e.tenant IS NULL",
		"an attachment belongs to no entry with one": "SELECT count(*) FROM attachments a LEFT JOIN entries e ON (e.tenant, e.position) = (a.tenant, a.position) AND e.attachment IS NOT NULL WHERE e.tenant IS NULL",
		"a reference belongs to no attachment":       "SELECT count(*) FROM refs r LEFT JOIN attachments a USING (tenant, position) WHERE a.tenant IS NULL",
		"a tree hash belongs to no tenant":           "SELECT count(*) FROM hashes h LEFT JOIN tenants t ON t.id = h.tenant WHERE t.id IS NULL",
	} {
		var n int
		if err := db.pool.QueryRow(ctx, query).Scan(&n); err != nil {
			return storeError("check database", err)
		}
		if n > 0 {
			return fmt.Errorf("check database: %w: %s (%d rows)", eventlog.ErrCorrupt, what, n)
		}
	}
	return db.checkIndexes(ctx)
}

func (db *Log) checkIndexes(ctx context.Context) error {
	const installed = "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'amcheck'"
	var schema string
	switch err := db.pool.QueryRow(ctx, installed).Scan(&schema); {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return storeError("check indexes", err)
	}
	query := "SELECT " + pgx.Identifier{schema}.Sanitize() + `.bt_index_check(c.oid, true) FROM pg_class c JOIN pg_am a ON a.oid = c.relam
		WHERE c.relkind = 'i' AND a.amname = 'btree' AND c.relnamespace = current_schema()::regnamespace`
	_, err := db.pool.Exec(ctx, query)
	return storeError("check indexes", err)
}

// Risks returns, one sentence each, what the server's settings take from the promise that
// a committed entry survives a crash; none when nothing does.
func (db *Log) Risks(ctx context.Context) ([]string, error) {
	var fsync, pages string
	err := db.pool.QueryRow(ctx, "SELECT current_setting('fsync'), current_setting('full_page_writes')").Scan(&fsync, &pages)
	if err != nil {
		return nil, storeError("read settings", err)
	}
	var risks []string
	if fsync != "on" {
		risks = append(risks, "fsync is off: a power cut loses or damages the log")
	}
	if pages != "on" {
		risks = append(risks, "full_page_writes is off: a power cut may damage the log")
	}
	return risks, nil
}

// DropCaches implements eventlog.Driver: nothing is kept outside the database.
func (db *Log) DropCaches() {}

// Close implements eventlog.Driver.
func (db *Log) Close() error {
	db.pool.Close()
	return nil
}

// storeError names what was done and maps what went wrong to the port's errors.
func storeError(what string, err error) error {
	if err == nil {
		return nil
	}
	clean := CleanError(err)
	switch Classify(err) {
	case Closed:
		return fmt.Errorf("%s: %w", what, eventlog.ErrClosed)
	case Full:
		return fmt.Errorf("%s: %w: %w", what, eventlog.ErrFull, clean)
	case Damaged:
		return fmt.Errorf("%s: %w: %w", what, eventlog.ErrCorrupt, clean)
	case Unreachable:
		return fmt.Errorf("%s: %w: %w", what, eventlog.ErrUnavailable, clean)
	}
	return fmt.Errorf("%s: %w", what, clean)
}
