package items

import (
	"errors"
	"fmt"

	"satchel/pipeline/store/internal/columns"
)

// ErrCorrupt is returned for a stored row that cannot be what was written.
var ErrCorrupt = errors.New("item store is damaged")

func newCorruptError(what string) error { return fmt.Errorf("decode %s: %w", what, ErrCorrupt) }

// checkFullyRead reports whether everything was read and fitted.
func checkFullyRead(c *columns.Cursor, what string) error {
	if !c.Done() {
		return newCorruptError(what)
	}
	return nil
}
