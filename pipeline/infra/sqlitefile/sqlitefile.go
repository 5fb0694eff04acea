// Package sqlitefile owns what Satchel's SQLite files with a write-ahead log (WAL) have in
// common, whatever their tables: that they are their owner's alone, that those which can be
// made anew do not wait for the disk, and that what is deleted is in no file any more.
// Drivers may import it.
package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Create makes a file, for its owner alone, when there is none: SQLite would make it, and
// with it the files beside it, for everybody to read. A file that is there is not opened,
// as closing it would end SQLite's locks on it.
func Create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// DSN returns what the driver opens a file by that can be made anew. A power cut may cost
// its last transactions, never a torn one (synchronous NORMAL); deleted rows are
// overwritten (secure_delete). options are further ones of the driver, "a=b&c=d".
func DSN(path, options string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return u.String() + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)" +
		"&_pragma=secure_delete(1)&_pragma=temp_store(MEMORY)&" + options
}

// Empty empties the write-ahead log of a file, so that what was deleted is in no file any
// more. It waits for readers, up to ten seconds.
func Empty(ctx context.Context, db *sql.DB) error {
	var busy, frames, done int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("a reader holds the write-ahead log")
	}
	return nil
}
