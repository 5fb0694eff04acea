package sqlitefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"satchel/pipeline/store/internal/sqlitefile"
)

var errDamaged = errors.New("damaged")

func open(t *testing.T, path string) *sqlitefile.File {
	t.Helper()
	f, err := sqlitefile.Open(t.Context(), sqlitefile.Config{
		Path: path, Schema: "CREATE TABLE IF NOT EXISTS things (key INTEGER PRIMARY KEY, name TEXT)", Corrupt: errDamaged,
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

func put(t *testing.T, f *sqlitefile.File, tenant, name string, upTo int64, fail error) (bool, error) {
	t.Helper()
	return f.Fold(t.Context(), tenant, upTo, func(tx *sqlitefile.Tx) error {
		low, _ := sqlitefile.KeyRange(tx.Num)
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO things VALUES (?, ?)", low+upTo, name); err != nil {
			return err
		}
		return fail
	})
}

func count(t *testing.T, f *sqlitefile.File) (n int) {
	t.Helper()
	if err := f.Read.QueryRowContext(t.Context(), "SELECT count(*) FROM things").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "things.db")
	f := open(t, path)
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
	if n := count(t, f); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	if err := f.Clear(t.Context(), "acme", "things"); err != nil {
		t.Fatal(err)
	}
	again := open(t, path) // a checkpoint is in the file, not only in memory
	for tenant, want := range map[string]int64{"acme": 0, "globex": 3, "nobody": 0} {
		for _, f := range []*sqlitefile.File{f, again} {
			if at, err := f.Checkpoint(t.Context(), tenant); at != want || err != nil {
				t.Errorf("checkpoint of %s: %d %v, want %d", tenant, at, err, want)
			}
		}
	}
	if n := count(t, f); n != 1 {
		t.Errorf("%d rows after clearing one tenant, want 1", n)
	}
}

func TestFileIsItsOwners(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "things.db")
	f := open(t, path)
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
	_, err := sqlitefile.Open(t.Context(), sqlitefile.Config{Path: path, Corrupt: errDamaged})
	if !errors.Is(err, errDamaged) {
		t.Errorf("error = %v, want damaged", err)
	}
	if _, err := sqlitefile.Open(t.Context(), sqlitefile.Config{Corrupt: errDamaged}); err == nil {
		t.Error("no path: no error")
	}
}
