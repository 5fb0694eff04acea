// Package sqlitefile owns what Satchel's SQLite files with a write-ahead log (WAL) have in
// common, whatever their tables: that they are their owner's alone, that those which can be
// made again do not wait for the disk, and that what is deleted is in no file any more.
// Drivers may import it.
package sqlitefile

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"

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

// DSN returns what the driver opens a file by that can be made again. A power cut may cost
// its last transactions, never a torn one (synchronous NORMAL); deleted rows are
// overwritten (secure_delete). options are further ones of the driver, "a=b&c=d".
func DSN(path, options string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return u.String() + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)" +
		"&_pragma=secure_delete(1)&_pragma=temp_store(MEMORY)&" + options
}

// Empty overwrites what pages still hold of rows that were moved to others, and empties the write-ahead log of a file, so
// that what was deleted is in no file any more. It waits for readers, up to ten seconds.
func Empty(ctx context.Context, db *sql.DB) error {
	pages, err := Stale(ctx, db)
	if err == nil {
		err = Overwrite(ctx, db, pages)
	}
	if err != nil {
		return err
	}
	var busy, frames, done int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("a reader holds the write-ahead log")
	}
	return nil
}

// batch is how many pages are overwritten in one transaction.
const batch = 256

// Stale returns the pages that hold something between the pointers to their cells and the cells. A row that SQLite moves
// to another page, to balance them, leaves its bytes there, also with secure_delete. It reads the whole file.
func Stale(ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
},
) (pages []int, err error) {
	rows, err := db.QueryContext(ctx, "SELECT pgno, data FROM sqlite_dbpage")
	if err != nil {
		return nil, fmt.Errorf("look for what was moved: %w", err)
	}
	for rows.Next() && err == nil {
		var page int
		var data sql.RawBytes
		if err = rows.Scan(&page, &data); err == nil && !isAllZero(findUnusedBytes(page, data)) {
			pages = append(pages, page)
		}
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("look for what was moved: %w", err)
	}
	return pages, nil
}

// beginner is a database, or a connection to one.
type beginner interface {
	BeginTx(ctx context.Context, o *sql.TxOptions) (*sql.Tx, error)
}

// Overwrite clears what such pages hold there.
func Overwrite(ctx context.Context, db beginner, pages []int) error {
	for some := range slices.Chunk(pages, batch) {
		if err := overwritePages(ctx, db, some); err != nil {
			return fmt.Errorf("overwrite what was moved: %w", err)
		}
	}
	return nil
}

// overwritePages reads the pages again, as they may have changed, and clears them.
func overwritePages(ctx context.Context, db beginner, pages []int) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	for _, page := range pages {
		var data []byte
		switch err := tx.QueryRowContext(ctx, "SELECT data FROM sqlite_dbpage WHERE pgno = ?", page).Scan(&data); {
		case errors.Is(err, sql.ErrNoRows): // it was cut off
			continue
		case err != nil:
			return err
		}
		if free := findUnusedBytes(page, data); !isAllZero(free) {
			clear(free)
			if _, err := tx.ExecContext(ctx, "UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", data, page); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// findUnusedBytes is what a page of a table or an index has between the pointers to its cells and the cells; nil for other pages.
func findUnusedBytes(page int, data []byte) []byte {
	const fileHeader, leaf, interior = 100, 8, 12
	at := 0
	if page == 1 {
		at = fileHeader
	}
	if len(data) < at+interior {
		return nil
	}
	head := leaf
	switch data[at] {
	case 2, 5: // interior pages
		head = interior
	case 10, 13:
	default:
		return nil
	}
	from := at + head + 2*int(binary.BigEndian.Uint16(data[at+3:]))
	to := int(binary.BigEndian.Uint16(data[at+5:]))
	to = cmp.Or(to, 1<<16)
	if from >= to || to > len(data) {
		return nil
	}
	return data[from:to]
}

func isAllZero(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }
