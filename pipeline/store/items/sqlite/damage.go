package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"satchel/pipeline/store/items"
)

// named wraps the error of a damaged file in items.ErrCorrupt.
func named(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && !errors.Is(err, items.ErrCorrupt) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("%w: %w", items.ErrCorrupt, err)
		}
	}
	return err
}
