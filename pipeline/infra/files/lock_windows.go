package files

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is far behind what a file holds, so that others can read it.
const lockOffset = 1 << 30

// TryLock takes an exclusive lock on an open file without waiting; taken means another holder has it.
// Closing the file gives it back.
func TryLock(file *os.File) (taken bool, err error) {
	err = windows.LockFileEx(windows.Handle(file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{OffsetHigh: lockOffset})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return true, nil
	}
	return false, err
}
