package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"satchel/pipeline/store/eventlog"
)

// wrap names what was done and maps SQLite's codes to the port's errors.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	var e *driver.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch code := e.Code(); {
	case code&0xff == lib.SQLITE_CORRUPT, code&0xff == lib.SQLITE_NOTADB,
		code == lib.SQLITE_IOERR_SHORT_READ, code == lib.SQLITE_IOERR_DATA, code == lib.SQLITE_IOERR_CORRUPTFS:
		return fmt.Errorf("%s: %w: %w", what, eventlog.ErrCorrupt, err)
	case code&0xff == lib.SQLITE_FULL, code == lib.SQLITE_IOERR_SHMSIZE:
		return fmt.Errorf("%s: %w: %w", what, eventlog.ErrFull, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{eventlog.ErrCorrupt}, args...)...)
}
