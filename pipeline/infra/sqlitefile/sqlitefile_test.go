package sqlitefile_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"satchel/pipeline/infra/sqlitefile"
)

// A file and those beside it are their owner's, and what is deleted is in none of them.
func TestWhatIsDeletedIsGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "odd ?#%41 name.db")
	if err := sqlitefile.Create(path); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", sqlitefile.DSN(path, "_txlock=immediate"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	run := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := db.ExecContext(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	holds := func() bool {
		t.Helper()
		found := false
		for _, name := range []string{path, path + "-wal", path + "-shm"} {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s: mode %v", name, info.Mode())
			}
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(raw, []byte("the code of the safe"))
		}
		return found
	}
	run("CREATE TABLE things (name TEXT)", "INSERT INTO things VALUES ('the code of the safe')")
	if !holds() {
		t.Fatal("what was written is in no file")
	}
	run("DELETE FROM things")
	if err := sqlitefile.Empty(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if holds() {
		t.Error("what was deleted is in a file")
	}
	if err := sqlitefile.Create(path); err != nil {
		t.Errorf("of a file that is there: %v", err)
	}
	run("INSERT INTO things VALUES ('x')")
}

func TestCreateWhereThereIsNoFolder(t *testing.T) {
	t.Parallel()
	if err := sqlitefile.Create(filepath.Join(t.TempDir(), "none", "x.db")); !os.IsNotExist(err) {
		t.Errorf("error %v", err)
	}
}
