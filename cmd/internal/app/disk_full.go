package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"satchel/pipeline/store/eventlog"
)

// startRoom is what is surely enough to open a data folder: its locks and keys, the database's
// shared memory and what it recovers, the server's files.
const startRoom = "16 MiB"

// noRoom says what to do when err is that there is no room where the data is: opening writes
// before anything can be freed. It is err otherwise.
func (a *App) noRoom(err error) error {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, eventlog.ErrFull) ||
		err != nil && slices.ContainsFunc([]string{"no space left", "quota exceeded", "disk is full"}, // the server and the databases hand on text only
			func(text string) bool { return strings.Contains(err.Error(), text) })
	if !full {
		return err
	}
	return fmt.Errorf("the disk of the data folder %s is full, and opening it writes a little: free %s there and start again; nothing that was acknowledged is lost: %w", a.Dir, startRoom, err)
}
