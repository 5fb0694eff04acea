package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is far behind the text, so that others can read who holds the lock.
const lockOffset = 1 << 20

// tryLock takes an exclusive lock without waiting; taken means another holder has it.
func tryLock(file *os.File) (taken bool, err error) {
	err = windows.LockFileEx(windows.Handle(file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return true, nil
	}
	return false, err
}
