package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"satchel/pipeline/store/graph"
)

// named wraps the error of a damaged file in graph.ErrCorrupt.
func named(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && !errors.Is(err, graph.ErrCorrupt) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("%w: %w", graph.ErrCorrupt, err)
		}
	}
	return err
}
