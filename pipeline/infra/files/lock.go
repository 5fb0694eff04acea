// A lock keeps a folder for one process at a time: who takes the lock of a folder
// holds it until it gives it back or dies, and everybody else is told who that is. It owns the
// file satchel.lock of the folder.

package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// name is the lock file inside the folder.
const name = "satchel.lock"

// ErrHeld is what a *HeldError is, for errors.Is.
var ErrHeld = errors.New("data folder is in use")

// HeldError says who holds the data folder. PID is 0 and Since the zero time when
// the holder has not written them yet.
type HeldError struct {
	Dir   string
	PID   int
	Since time.Time
}

// Error names the folder, the process and since when it runs.
func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("data folder %q is in use by another process", e.Dir)
	}
	return fmt.Sprintf("data folder %q is in use by process %d, since %s", e.Dir, e.PID, e.Since.Format(time.RFC3339))
}

// Is reports whether target is ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// Lock is an exclusive lock on a folder. The operating system gives it back when the
// process dies.
type Lock struct{ file *os.File }

// TakeLock locks the folder dir, which must be there, and notes in it that this process has
// held it since now. When someone else holds it, be it in this process, the error is a
// *HeldError. The caller MUST call Release.
func TakeLock(dir string, now time.Time) (*Lock, error) {
	path := filepath.Join(dir, name)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock %q: %w", path, err)
	}
	taken, err := TryLock(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock folder %q: %w", dir, err), file.Close())
	}
	if taken {
		holder := readHolder(path)
		holder.Dir = dir
		return nil, errors.Join(holder, file.Close())
	}
	text := strconv.Itoa(os.Getpid()) + " " + now.UTC().Format(time.RFC3339) + "\n"
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(text), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write lock %q: %w", path, err), file.Close())
	}
	return &Lock{file: file}, nil
}

// readHolder reads what the holder wrote; what cannot be read is left empty.
func readHolder(path string) *HeldError {
	holder := &HeldError{}
	text, err := os.ReadFile(path)
	if err != nil {
		return holder
	}
	pid, since, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	number, err := strconv.Atoi(pid)
	if err != nil {
		return holder
	}
	holder.PID = number
	if at, err := time.Parse(time.RFC3339, since); err == nil {
		holder.Since = at
	}
	return holder
}

// Release closes the file and with it gives the lock back. The file stays: removing
// it would let two processes lock two files of one name.
func (l *Lock) Release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("release folder lock: %w", err)
	}
	return nil
}
