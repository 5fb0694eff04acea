package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// lockName is the lock file inside the data folder.
const lockName = "satchel.lock"

// ErrLocked is what a *LockedError is, for errors.Is.
var ErrLocked = errors.New("data folder is in use")

// LockedError says who holds the data folder. PID is 0 and Since the zero time when
// the holder has not written them yet.
type LockedError struct {
	Dir   string
	PID   int
	Since time.Time
}

// Error names the folder, the process and since when it runs.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("data folder %q is in use by another process", e.Dir)
	}
	return fmt.Sprintf("data folder %q is in use by process %d, since %s", e.Dir, e.PID, e.Since.Format(time.RFC3339))
}

// Is reports whether target is ErrLocked.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// folderLock holds an exclusive lock on a file of the folder. The operating system
// gives it back when the process dies.
type folderLock struct{ file *os.File }

func lockFolder(dir string, now time.Time) (*folderLock, error) {
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock %q: %w", path, err)
	}
	taken, err := tryLock(file)
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
	return &folderLock{file: file}, nil
}

// Held returns a *LockedError while a process holds the folder, nil when none does.
func Held(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, lockName)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := lockFolder(dir, time.Now())
	if err != nil {
		return err
	}
	return lock.release()
}

// readHolder reads what the holder wrote; what cannot be read is left empty.
func readHolder(path string) *LockedError {
	holder := &LockedError{}
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

// release closes the file and with it gives the lock back. The file stays: removing
// it would let two processes lock two files of one name.
func (l *folderLock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("release folder lock: %w", err)
	}
	return nil
}
