package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
)

// TestNothingMayBeWritten looks into a log that is kept as evidence: it verifies as it is, and
// nothing comes to lie beside it. One that a process left behind with a journal is refused
// with what to do, unless SQLite can read the journal.
func TestNothingMayBeWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		beside []string // of the file
		says   string
	}{
		"closed":               {nil, ""},
		"killed":               {[]string{"-wal", "-shm"}, ""},
		"killed, and restored": {[]string{"-wal"}, "open a copy of the folder"},
	} {
		folder := filepath.Join(t.TempDir(), "evidence")
		path := filepath.Join(folder, "log.db")
		if err := errors.Join(os.Chmod(filepath.Dir(filepath.Dir(folder)), 0o755), os.Mkdir(folder, 0o755)); err != nil {
			t.Fatal(err)
		}
		seed(t, path)
		if len(c.beside) > 0 {
			leave(t, path, c.beside)
		}
		protect(t, folder)
		before := names(t, folder)
		err := asNobody(func() error {
			db, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: path})
			if err != nil {
				return err
			}
			l, err := eventlog.New(eventlog.Config{Driver: db})
			if err != nil {
				return err
			}
			if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: drafts(200, 1)}); err == nil {
				t.Errorf("%s: an entry was appended", name)
			}
			return errors.Join(l.VerifyAll(t.Context(), nil), l.Close())
		})
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if after := names(t, folder); after != before {
			t.Errorf("%s: the folder has %s, had %s", name, after, before)
		}
	}
}

// leave puts beside the file what a process that was killed leaves there.
func leave(t *testing.T, path string, beside []string) {
	t.Helper()
	live := openLog(t, path)
	if _, err := live.Append(t.Context(), eventlog.Batch{Drafts: drafts(160, 5)}); err != nil {
		t.Fatal(err)
	}
	kept := map[string][]byte{}
	for _, suffix := range append(beside, "") {
		raw, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		kept[suffix] = raw
	}
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	for suffix, raw := range kept {
		if err := os.WriteFile(path+suffix, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// protect lets everybody read the folder and nobody write to it, until the test ends.
func protect(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o444)
	})
	if err := errors.Join(err, os.Chmod(folder, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Error(err)
		}
	})
}

// asNobody calls f without the rights of the superuser over files.
func asNobody(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if os.Geteuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		done <- f()
	}()
	return <-done
}

func names(t *testing.T, folder string) string {
	t.Helper()
	list, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}
