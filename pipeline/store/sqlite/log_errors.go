package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"satchel/pipeline/store/eventlog"
)

// storeError names what was done and maps SQLite's codes to the port's errors.
func storeError(what string, err error) error {
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

// isFolderUnwritable reports whether err is that SQLite could not make what it keeps beside a file,
// as nothing may be written to its folder.
func isFolderUnwritable(err error, folder string) bool {
	var e *driver.Error
	if !errors.As(err, &e) || e.Code()&0xff != lib.SQLITE_READONLY && e.Code()&0xff != lib.SQLITE_CANTOPEN {
		return false
	}
	probe, err := os.CreateTemp(folder, ".satchel-probe-")
	if err == nil {
		_ = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
