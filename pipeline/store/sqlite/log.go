// Log keeps event logs in one SQLite database file: the eventlog.Driver of
// the embedded mode. It owns that file, in WAL mode with synchronous=FULL, and every
// table in it (schema.go). One connection writes, a few read. The caller makes sure that
// one process at a time opens the file.
//
// Content is erased by overwriting it in place with zeros; Scrub then copies the journal
// into the database and truncates it. A flipped bit in a page that SQLite notices is
// eventlog.ErrCorrupt; one that it does not notice is for the log's own hashes, or, in an
// index, for the check of indexes (indexes.go).

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"satchel/pipeline/infra/sqlitefile"
	"satchel/pipeline/store/eventlog"
)

// LogConfig says where the database is. Path is required.
type LogConfig struct {
	// Path is the database file, made when it is not there. SQLite adds -wal and -shm.
	Path string
	// Readers is the number of reading connections; 0 is 4.
	Readers int
	// QuickCheck makes Open read every page first (about a second a gigabyte).
	QuickCheck bool
	// MaxPages limits the database to that many pages of 4,096 bytes, past which appends
	// get eventlog.ErrFull; 0 is SQLite's own limit.
	MaxPages int
}

// Log is an eventlog.Driver over one SQLite file.
type Log struct {
	writePool *sql.DB
	readPool  *sql.DB
	writer    chan *conn // holds the writing connection when it is free; closed by Close
	readers   chan *conn // holds the free reading connections; closed by Close
	size      int        // reading connections
	names     *names
	chunks    chunks
	nextID    int64      // of the next content; of the writer alone
	packer    compressor // its room is of the writer alone
	done      chan struct{}
}

var _ eventlog.Driver = (*Log)(nil)

// OpenLog opens or makes the database. A file of a newer version, of another program or a
// damaged one is refused, the last with eventlog.ErrCorrupt. Where nothing may be written, a
// file that was closed, so that no journal is beside it, is opened as it is: what would change
// it fails.
func OpenLog(ctx context.Context, cfg LogConfig) (*Log, error) {
	if cfg.Path == "" {
		return nil, errors.New("open event log: no path")
	}
	if cfg.Readers <= 0 {
		cfg.Readers = 4
	}
	db, err := openLog(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open event log %q: %w", cfg.Path, err)
	}
	return db, nil
}

func openLog(ctx context.Context, cfg LogConfig) (*Log, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, err
	}
	if err := sqlitefile.Create(path); err != nil {
		return nil, err
	}
	db, err := openFile(ctx, cfg, path, false)
	if err == nil || !isFolderUnwritable(err, filepath.Dir(path)) {
		return db, err
	}
	if _, at := os.Lstat(path + "-wal"); errors.Is(at, fs.ErrNotExist) {
		return openFile(ctx, cfg, path, true)
	}
	return nil, fmt.Errorf("the journal that a process left beside it cannot be read where nothing may be written: open a copy of the folder: %w", err)
}

// openFile opens the file at path, immutable as what no one writes to.
func openFile(ctx context.Context, cfg LogConfig, path string, immutable bool) (*Log, error) {
	packer, err := newCompressor()
	if err != nil {
		return nil, err
	}
	db := &Log{
		writer: make(chan *conn, 1), readers: make(chan *conn, cfg.Readers), size: cfg.Readers,
		names: newNames(), packer: packer, done: make(chan struct{}),
	}
	if db.writePool, err = sql.Open("sqlite", makeDataSource(path, immutable, "synchronous(FULL)", "secure_delete(ON)", "wal_autocheckpoint(4000)", formatPageLimit(cfg.MaxPages))); err != nil {
		return nil, err
	}
	if db.readPool, err = sql.Open("sqlite", makeDataSource(path, immutable, "query_only(ON)")); err != nil {
		return nil, errors.Join(err, db.writePool.Close())
	}
	if err := db.connectPools(ctx, cfg.QuickCheck); err != nil {
		return nil, errors.Join(err, db.readPool.Close(), db.writePool.Close())
	}
	return db, nil
}

func formatPageLimit(pages int) string {
	if pages <= 0 {
		pages = 1<<32 - 2
	}
	return fmt.Sprintf("max_page_count(%d)", pages)
}

func makeDataSource(path string, immutable bool, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{
		"busy_timeout(10000)", "journal_mode(WAL)", "cell_size_check(ON)", "cache_size(-16000)", "temp_store(MEMORY)",
	}, pragmas...)}
	if immutable {
		q.Set("immutable", "1")
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}

func (db *Log) connectPools(ctx context.Context, check bool) (err error) {
	w, err := openConnection(ctx, db.writePool)
	if err != nil {
		return err
	}
	db.writer <- w
	defer func() {
		if err != nil { // a connection that is in use would outlive its pool
			err = errors.Join(err, (<-db.writer).closeConnection())
			for range len(db.readers) {
				err = errors.Join(err, (<-db.readers).closeConnection())
			}
		}
	}()
	if check {
		if err := w.checkDatabase(ctx, "quick_check"); err != nil {
			return err
		}
	}
	if err := w.prepareTables(ctx); err != nil {
		return err
	}
	if err := w.queryUnpreparedRow(ctx, "SELECT coalesce(max(id), 0) + 1 FROM content").Scan(&db.nextID); err != nil {
		return storeError("read content", err)
	}
	for range db.size {
		r, err := openConnection(ctx, db.readPool)
		if err != nil {
			return err
		}
		db.readers <- r
	}
	return nil
}

// prepareTables makes the tables in a new file, and refuses one that is not ours or of another
// version.
func (c *conn) prepareTables(ctx context.Context) error {
	if err := c.executeStatement(ctx, "BEGIN"); err != nil { // another process may make the tables meanwhile
		return storeError("begin", err)
	}
	fresh, err := c.isFreshDatabase(ctx)
	if err := errors.Join(err, c.executeStatement(context.WithoutCancel(ctx), "ROLLBACK")); err != nil || !fresh {
		return err
	}
	if err := c.executeStatement(ctx, "BEGIN IMMEDIATE"); err != nil {
		return storeError("begin", err)
	}
	fresh, err = c.isFreshDatabase(ctx) // another process may have been first
	if err == nil && fresh {
		_, err = c.ExecContext(ctx, fmt.Sprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d;", logSchema, applicationID, logSchemaVersion))
	}
	if err == nil {
		err = c.executeStatement(ctx, "COMMIT")
	}
	if err != nil {
		return errors.Join(storeError("make tables", err), c.executeStatement(context.WithoutCancel(ctx), "ROLLBACK"))
	}
	return nil
}

// isFreshDatabase reports whether the file is to get its tables.
func (c *conn) isFreshDatabase(ctx context.Context) (bool, error) {
	var app, version, tables int
	err := errors.Join(
		c.queryUnpreparedRow(ctx, "PRAGMA application_id").Scan(&app),
		c.queryUnpreparedRow(ctx, "PRAGMA user_version").Scan(&version),
		c.queryUnpreparedRow(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
	)
	switch {
	case err != nil:
		return false, storeError("read schema", err)
	case app == applicationID && version == logSchemaVersion:
		return false, nil
	case app == applicationID:
		return false, fmt.Errorf("it has schema version %d, this program reads %d only: use the program that wrote it", version, logSchemaVersion)
	case app != 0 || version != 0 || tables != 0:
		return false, fmt.Errorf("it is not a Satchel event log (application id %#x, version %d)", app, version)
	}
	return true, nil
}

// Update implements eventlog.Driver. The one writing connection stands for the locks of
// all heads.
func (db *Log) Update(ctx context.Context, _ []string, fn func(eventlog.Tx) error) error {
	w, err := takeConnection(ctx, db.writer, db.done)
	if err != nil {
		return err
	}
	defer func() { db.writer <- w }()
	ctx = context.WithoutCancel(ctx)
	if err := w.executeStatement(ctx, "BEGIN IMMEDIATE"); err != nil {
		return storeError("begin", err)
	}
	db.packer.resetRoom()
	t := &tx{reader: reader{ctx: ctx, conn: w, db: db}, nextID: db.nextID}
	err = fn(t)
	if err == nil {
		if err = w.executeStatement(ctx, "COMMIT"); err == nil {
			db.nextID = t.nextID
			db.names.learnNames(t.learnt, t.tenants)
			return nil
		}
		err = storeError("commit", err)
	}
	return errors.Join(err, w.rollBackTransaction(ctx))
}

// View implements eventlog.Driver.
func (db *Log) View(ctx context.Context, fn func(eventlog.Reader) error) error {
	c, err := takeConnection(ctx, db.readers, db.done)
	if err != nil {
		return err
	}
	defer func() { db.readers <- c }()
	ctx = context.WithoutCancel(ctx)
	if err := c.executeStatement(ctx, "BEGIN"); err != nil {
		return storeError("begin", err)
	}
	err = fn(&reader{ctx: ctx, conn: c, db: db, committed: true})
	return errors.Join(err, c.rollBackTransaction(ctx))
}

func takeConnection(ctx context.Context, from chan *conn, done chan struct{}) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case c := <-from:
		return c, nil
	default:
	}
	select {
	case c := <-from:
		return c, nil
	case <-done:
		return nil, eventlog.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Scrub implements eventlog.Driver: what pages hold of rows that were moved is overwritten, and, with every connection at
// rest, the journal is copied into the database and truncated.
func (db *Log) Scrub(ctx context.Context) error {
	c, err := takeConnection(ctx, db.readers, db.done)
	if err != nil {
		return err
	}
	stale, err := sqlitefile.Stale(ctx, c) // while others write
	db.readers <- c
	if err != nil {
		return storeError("scrub", err)
	}
	w, err := takeConnection(ctx, db.writer, db.done)
	if err != nil {
		return err
	}
	defer func() { db.writer <- w }()
	if err := sqlitefile.Overwrite(ctx, w, stale); err != nil {
		return storeError("scrub", err)
	}
	var resting []*conn
	defer func() {
		for _, c := range resting {
			db.readers <- c
		}
	}()
	for range db.size {
		c, err := takeConnection(ctx, db.readers, db.done)
		if err != nil {
			return err
		}
		resting = append(resting, c)
	}
	var busy, pages, copied int
	if err := w.queryUnpreparedRow(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &copied); err != nil {
		return storeError("truncate journal", err)
	}
	if busy != 0 {
		return errors.New("truncate journal: another process reads the database")
	}
	return nil
}

// Check implements eventlog.Driver by SQLite's integrity_check. Rows of no tenant are
// damage as well.
func (db *Log) Check(ctx context.Context) error {
	c, err := takeConnection(ctx, db.readers, db.done)
	if err != nil {
		return err
	}
	defer func() { db.readers <- c }()
	if err := c.checkDatabase(ctx, "integrity_check"); err != nil {
		return err
	}
	const orphan = `WITH RECURSIVE owner(tenant) AS (
		SELECT min(id) >> 40 FROM entries
		UNION ALL SELECT (SELECT min(id) >> 40 FROM entries WHERE id >= (tenant + 1) << 40) FROM owner WHERE tenant IS NOT NULL
	) SELECT count(*) FROM owner WHERE tenant IS NOT NULL AND tenant NOT IN (SELECT id FROM tenants)`
	var orphans int
	if err := c.queryUnpreparedRow(ctx, orphan).Scan(&orphans); err != nil {
		return storeError("check database", err)
	}
	if orphans > 0 {
		return eventlog.Corrupt("check database: the entries of %d tenants have no head", orphans)
	}
	return nil
}

// DropCaches implements eventlog.Driver.
func (db *Log) DropCaches() {
	db.names.dropNames()
	db.chunks.dropChunks()
}

// Close implements eventlog.Driver.
func (db *Log) Close() error {
	select {
	case <-db.done:
		return nil
	default:
	}
	writer := <-db.writer
	errs := make([]error, 0, db.size+3)
	for range db.size {
		errs = append(errs, (<-db.readers).closeConnection())
	}
	close(db.done)
	// The writer goes last: the last connection copies the journal and removes it, which
	// one that may not write cannot.
	errs = append(errs, db.readPool.Close(), writer.closeConnection(), db.writePool.Close())
	return errors.Join(errs...)
}

// conn is a connection with its prepared statements. One goroutine at a time uses it.
type conn struct {
	*sql.Conn
	prepared map[string]*sql.Stmt
}

func openConnection(ctx context.Context, pool *sql.DB) (*conn, error) {
	c, err := pool.Conn(ctx)
	if err != nil {
		return nil, storeError("connect", err)
	}
	return &conn{Conn: c, prepared: map[string]*sql.Stmt{}}, nil
}

func (c *conn) prepareStatement(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := c.prepared[query]; ok {
		return s, nil
	}
	s, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.prepared[query] = s
	return s, nil
}

func (c *conn) executeStatement(ctx context.Context, query string, args ...any) error {
	_, err := c.runStatement(ctx, query, args...)
	return err
}

func (c *conn) runStatement(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := c.prepareStatement(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

func (c *conn) queryRows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := c.prepareStatement(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

func (c *conn) closeConnection() error {
	var errs []error
	for _, s := range c.prepared {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.Conn.Close())...)
}

// queryUnpreparedRow runs a statement that is not worth preparing.
func (c *conn) queryUnpreparedRow(ctx context.Context, query string, args ...any) *sql.Row {
	return c.QueryRowContext(ctx, query, args...)
}

// rollBackTransaction ends a transaction, if SQLite has not ended it itself.
func (c *conn) rollBackTransaction(ctx context.Context) error {
	err := c.executeStatement(ctx, "ROLLBACK")
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		return nil
	}
	return storeError("roll back", err)
}

func (c *conn) checkDatabase(ctx context.Context, pragma string) error {
	var result string
	if err := c.queryUnpreparedRow(ctx, "PRAGMA "+pragma+"(1)").Scan(&result); err != nil {
		return storeError("check database", err)
	}
	if result != "ok" {
		return eventlog.Corrupt("check database: %s", result)
	}
	return nil
}
