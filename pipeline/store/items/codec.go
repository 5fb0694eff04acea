package items

import (
	"errors"
	"fmt"

	"satchel/pipeline/store/internal/columns"
)

// ErrCorrupt is returned for a stored row that cannot be what was written.
var ErrCorrupt = errors.New("item store is damaged")

func corrupt(what string) error { return fmt.Errorf("decode %s: %w", what, ErrCorrupt) }

// end reports whether everything was read and fitted.
func end(c *columns.Cursor, what string) error {
	if !c.Done() {
		return corrupt(what)
	}
	return nil
}
