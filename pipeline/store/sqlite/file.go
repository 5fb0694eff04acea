// File keeps a projection of every tenant's log in one SQLite file (WAL):
// the connections, and a table of the tenants with a number and a checkpoint each. The
// rows themselves are the driver's.
//
// It promises that a checkpoint goes with the rows that led to it, in one transaction, that
// a batch at or below it changes nothing, and that the file and those beside it are their
// owner's alone. Synchronous is NORMAL: a power cut may cost the last batches, never a torn
// one, and they are folded from the log again. Removed rows are overwritten
// (secure_delete); Scrub empties the write-ahead log as well. Drivers may import it.

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"satchel/pipeline/infra/sqlitefile"
)

// FileConfig says where and how. Path, Version and Corrupt are required.
type FileConfig struct {
	Path     string // the file; its folder must exist
	Version  int    // of Schema, above 0; a file of any other is refused
	Schema   string // statements that make the driver's tables
	CacheKiB int    // pages kept by each connection; default 8192
	Readers  int    // connections that read; default 2 per CPU, at least 4
	Corrupt  error  // what the error of a damaged file wraps

	// OnCorrupt is told once of the first such error after Open; nil: no one is. It MUST NOT
	// close the file.
	OnCorrupt func(error)
}

// File is the open file. It is safe for concurrent use. One process may have it open.
type File struct {
	Write, Read *sql.DB // one connection that writes, and those that read

	corrupt    error
	onCorrupt  func(error)
	told       sync.Once
	statements []*sql.Stmt // that Prepare made
	open, move *sql.Stmt   // on Write
	checkpoint *sql.Stmt   // on Read
	upTo       sync.Map    // by tenant: the checkpoint as the last Fold left it
}

const tenants = `
CREATE TABLE tenants (
	num        INTEGER PRIMARY KEY,
	name       TEXT NOT NULL UNIQUE,
	checkpoint INTEGER NOT NULL
);
`

// TenantNum is an expression for the number of the tenant that is its parameter.
const TenantNum = "(SELECT num FROM tenants WHERE name = ?)"

// KeyRange returns the bounds of a tenant's keys, both included; the first is not used.
// A key is the tenant's number times 2⁴⁰ plus a count, so that its rows lie together.
func KeyRange(num int64) (low, high int64) { return num << 40, (num+1)<<40 - 1 }

// OpenFile opens or creates the file.
func OpenFile(ctx context.Context, c FileConfig) (*File, error) {
	if c.Path == "" {
		return nil, errors.New("no path")
	}
	if c.CacheKiB <= 0 {
		c.CacheKiB = 8192
	}
	if c.Readers <= 0 {
		c.Readers = max(4, 2*runtime.GOMAXPROCS(0))
	}
	if err := sqlitefile.Create(c.Path); err != nil {
		return nil, err
	}
	cache := fmt.Sprintf("_pragma=cache_size(-%d)&", c.CacheKiB)
	write, err := sql.Open("sqlite", sqlitefile.DSN(c.Path, cache+"_txlock=immediate"))
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite", sqlitefile.DSN(c.Path, cache+"_pragma=query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(c.Readers)
	read.SetMaxIdleConns(c.Readers)
	f := &File{Write: write, Read: read, corrupt: c.Corrupt}
	if err := f.makeTables(ctx, &c); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.Prepare(ctx, []Statement{
		{&f.open, write, `INSERT INTO tenants (name, checkpoint) VALUES (?, 0)
			ON CONFLICT (name) DO UPDATE SET name = name RETURNING num, checkpoint`},
		{&f.move, write, "UPDATE tenants SET checkpoint = ? WHERE num = ?"},
		{&f.checkpoint, read, "SELECT checkpoint FROM tenants WHERE name = ?"},
	}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.onCorrupt = c.OnCorrupt
	return f, nil
}

// Check looks for damage in the whole file, as [File.Named] names it.
func (f *File) Check(ctx context.Context) error {
	var found string
	err := f.Read.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found)
	if err == nil && found != "ok" {
		err = fmt.Errorf("%w: %s", f.corrupt, found)
	}
	return f.Named(err)
}

// makeTables makes the tables in a new file.
func (f *File) makeTables(ctx context.Context, c *FileConfig) (err error) {
	if fresh, err := f.isFreshFile(ctx, f.Write, c); !fresh || err != nil {
		return err
	}
	tx, err := f.Write.BeginTx(ctx, nil)
	if err != nil {
		return f.Named(err)
	}
	defer func() { err = errors.Join(err, rolledBack(tx.Rollback())) }()
	if fresh, err := f.isFreshFile(ctx, tx, c); !fresh || err != nil { // another process may have been first
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("%s%s; PRAGMA user_version = %d", tenants, c.Schema, c.Version)); err != nil {
		return fmt.Errorf("make tables: %w", f.Named(err))
	}
	return tx.Commit()
}

// isFreshFile reports whether the file is to get its tables. It refuses one of another version.
func (f *File) isFreshFile(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, c *FileConfig) (bool, error) {
	var version, tables int
	err := errors.Join(
		q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version),
		q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
	)
	switch {
	case err != nil:
		return false, fmt.Errorf("read version: %w", f.Named(err))
	case version == c.Version:
		return false, nil
	case version != 0 || tables != 0:
		return false, fmt.Errorf("%w: %s has version %d, this program reads %d only: remove the file, and it is made anew from the log", c.Corrupt, c.Path, version, c.Version)
	}
	return true, nil
}

// Statement is one that is prepared once: parsing would cost more than running it.
type Statement struct {
	To    **sql.Stmt
	On    *sql.DB // File.Write or File.Read
	Query string
}

// Prepare prepares statements, which Close closes.
func (f *File) Prepare(ctx context.Context, list []Statement) error {
	for _, s := range list {
		stmt, err := s.On.PrepareContext(ctx, s.Query)
		if err != nil {
			return fmt.Errorf("prepare statements: %w", f.Named(err))
		}
		f.statements = append(f.statements, stmt)
		*s.To = stmt
	}
	return nil
}

// Close closes the file. Calls under way fail.
func (f *File) Close() error {
	var errs []error
	for _, s := range f.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, f.Read.Close(), f.Write.Close())...)
}

// Scrub empties the write-ahead log, so that what was removed is in no file any more. It
// waits for readers, up to ten seconds.
func (f *File) Scrub(ctx context.Context) error {
	return f.Named(sqlitefile.Empty(ctx, f.Write))
}

// Checkpoint returns a tenant's checkpoint, 0 for none.
func (f *File) Checkpoint(ctx context.Context, tenant string) (int64, error) {
	if at, ok := f.upTo.Load(tenant); ok {
		return at.(int64), nil
	}
	var at int64
	err := f.checkpoint.QueryRowContext(ctx, tenant).Scan(&at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, f.Named(err)
	}
	return at, nil
}

// Tx is a transaction over one tenant.
type Tx struct {
	*sql.Tx
	Num        int64 // of the tenant
	Checkpoint int64
	ctx        context.Context
}

// Stmt returns a prepared statement of Write for the transaction.
func (tx *Tx) Stmt(s *sql.Stmt) *sql.Stmt { return tx.StmtContext(tx.ctx, s) }

// errFolded undoes a transaction that has nothing to do.
var errFolded = errors.New("folded already")

// Fold calls fold and moves the checkpoint to upTo, in one transaction. It reports false,
// and calls nothing, when the checkpoint is there already.
func (f *File) Fold(ctx context.Context, tenant string, upTo int64, fold func(*Tx) error) (folded bool, err error) {
	err = f.Update(ctx, tenant, func(tx *Tx) error {
		if upTo <= tx.Checkpoint {
			return errFolded
		}
		if err := fold(tx); err != nil {
			return err
		}
		if _, err := tx.Stmt(f.move).ExecContext(ctx, upTo, tx.Num); err != nil {
			return fmt.Errorf("move checkpoint: %w", err)
		}
		return nil
	})
	if errors.Is(err, errFolded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.upTo.Store(tenant, upTo)
	return true, nil
}

// Update calls change in a transaction, which is undone when it fails.
func (f *File) Update(ctx context.Context, tenant string, change func(*Tx) error) (err error) {
	begun, err := f.Write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, rolledBack(begun.Rollback()))
		}
	}()
	tx := &Tx{Tx: begun, ctx: ctx}
	if err := tx.Stmt(f.open).QueryRowContext(ctx, tenant).Scan(&tx.Num, &tx.Checkpoint); err != nil {
		return fmt.Errorf("read tenant: %w", err)
	}
	if err := change(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// Load calls load in a transaction that only reads, with the bounds of the tenant's keys
// and its checkpoint. It calls nothing for a tenant that is not there.
func (f *File) Load(ctx context.Context, tenant string, load func(tx *sql.Tx, low, high, checkpoint int64) error) (err error) {
	tx, err := f.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return f.Named(err)
	}
	defer func() { err = errors.Join(err, rolledBack(tx.Rollback())) }()
	var num, checkpoint int64
	err = tx.QueryRowContext(ctx, "SELECT num, checkpoint FROM tenants WHERE name = ?", tenant).Scan(&num, &checkpoint)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		low, high := KeyRange(num)
		err = load(tx, low, high, checkpoint)
	}
	return f.Named(err)
}

// Clear removes a tenant's rows of tables by their keys, and its checkpoint.
func (f *File) Clear(ctx context.Context, tenant string, tables ...string) error {
	f.upTo.Delete(tenant)
	return f.Update(ctx, tenant, func(tx *Tx) error {
		low, high := KeyRange(tx.Num)
		for _, table := range tables {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE key BETWEEN ? AND ?", low, high); err != nil {
				return err
			}
		}
		_, err := tx.Stmt(f.move).ExecContext(ctx, 0, tx.Num)
		return err
	})
}

// rolledBack drops the error of a rollback that came after the transaction's end.
func rolledBack(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// Named wraps the error of a damaged file in the driver's, and says so to who is told. Every
// error that leaves the driver MUST pass through it.
func (f *File) Named(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && !errors.Is(err, f.corrupt) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			err = fmt.Errorf("%w: %w", f.corrupt, err)
		}
	}
	if f.onCorrupt != nil && errors.Is(err, f.corrupt) {
		f.told.Do(func() { f.onCorrupt(err) })
	}
	return err
}
