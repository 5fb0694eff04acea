package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/pipeline/store/sqlite"
)

var errDamaged = errors.New("damaged")

func openFile(t *testing.T, path string) *sqlite.File {
	t.Helper()
	f, err := sqlite.OpenFile(t.Context(), sqlite.FileConfig{
		Path: path, Version: 1, Schema: "CREATE TABLE things (key INTEGER PRIMARY KEY, name TEXT)", Corrupt: errDamaged,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func put(t *testing.T, f *sqlite.File, tenant, name string, upTo int64, fail error) (bool, error) {
	t.Helper()
	return f.Fold(t.Context(), tenant, upTo, func(tx *sqlite.Tx) error {
		low, _ := sqlite.KeyRange(tx.Num)
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO things VALUES (?, ?)", low+upTo, name); err != nil {
			return err
		}
		return fail
	})
}

func countFile(t *testing.T, f *sqlite.File) (n int) {
	t.Helper()
	if err := f.Read.QueryRowContext(t.Context(), "SELECT count(*) FROM things").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "things.db")
	f := openFile(t, path)
	if folded, err := put(t, f, "acme", "a", 7, nil); !folded || err != nil {
		t.Fatal(folded, err)
	}
	if folded, err := put(t, f, "acme", "again", 7, nil); folded || err != nil {
		t.Fatal("a batch at the checkpoint was folded:", folded, err)
	}
	failed := errors.New("no")
	if folded, err := put(t, f, "acme", "b", 9, failed); folded || !errors.Is(err, failed) {
		t.Fatal(folded, err)
	}
	if folded, err := put(t, f, "globex", "c", 3, nil); !folded || err != nil {
		t.Fatal(folded, err)
	}
	if n := countFile(t, f); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	if err := f.Clear(t.Context(), "acme", "things"); err != nil {
		t.Fatal(err)
	}
	again := openFile(t, path) // a checkpoint is in the file, not only in memory
	for tenant, want := range map[string]int64{"acme": 0, "globex": 3, "nobody": 0} {
		for _, f := range []*sqlite.File{f, again} {
			if at, err := f.Checkpoint(t.Context(), tenant); at != want || err != nil {
				t.Errorf("checkpoint of %s: %d %v, want %d", tenant, at, err, want)
			}
		}
	}
	if n := countFile(t, f); n != 1 {
		t.Errorf("%d rows after clearing one tenant, want 1", n)
	}
}

func TestFileIsItsOwners(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "things.db")
	f := openFile(t, path)
	if _, err := put(t, f, "acme", "a", 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", name, info.Mode())
		}
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "things.db")
	if err := os.WriteFile(path, []byte("this is no database, and it is long enough to tell"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.OpenFile(t.Context(), sqlite.FileConfig{Path: path, Version: 1, Corrupt: errDamaged})
	if !errors.Is(err, errDamaged) {
		t.Errorf("error = %v, want damaged", err)
	}
	if _, err := sqlite.OpenFile(t.Context(), sqlite.FileConfig{Corrupt: errDamaged}); err == nil {
		t.Error("no path: no error")
	}
}

// TestDamageBehindTheStart: it is found by Check, and told once.
func TestDamageBehindTheStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "things.db")
	f := openFile(t, path)
	for i := range int64(50) {
		if _, err := put(t, f, "acme", strings.Repeat("x", 1000), i+1, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.Check(t.Context()), f.Scrub(t.Context())); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "copy.db")
	copy(raw[len(raw)-2*4096:], make([]byte, 4096)) // pages are of 4,096 bytes
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	told := 0
	damaged, err := sqlite.OpenFile(t.Context(), sqlite.FileConfig{Path: path, Version: 1, Corrupt: errDamaged, OnCorrupt: func(err error) {
		if told++; !errors.Is(err, errDamaged) {
			t.Error("told of", err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := damaged.Check(t.Context()); !errors.Is(err, errDamaged) || told != 1 {
			t.Errorf("%v, told %d times", err, told)
		}
	}
	if err := damaged.Close(); err != nil {
		t.Error(err)
	}
}

// A file of another version is refused, and says what to do.
func TestFileOtherVersionsAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "things.db")
	f := openFile(t, path)
	if _, err := put(t, f, "acme", "a", 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, version := range []int{0, 2} {
		if _, err := f.Write.ExecContext(t.Context(), fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
			t.Fatal(err)
		}
		_, err := sqlite.OpenFile(t.Context(), sqlite.FileConfig{Path: path, Version: 1, Corrupt: errDamaged})
		if want := fmt.Sprintf("things.db has version %d, this program reads 1 only: remove the file", version); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("version %d: %v, want %q", version, err, want)
		}
	}
	if n := countFile(t, f); n != 1 {
		t.Errorf("%d rows, want the one that was there", n)
	}
}
