package sqlitefile_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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

// TestWhatWasMovedIsOverwritten: a row that was moved to another page, and then deleted, is in no file.
func TestWhatWasMovedIsOverwritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := sql.Open("sqlite", sqlitefile.DSN(path, "_txlock=immediate"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")
	random := rand.New(rand.NewPCG(3, 1))
	body := func(i int) string { return strings.Repeat(fmt.Sprintf("secret-%d ", i), 1+random.IntN(60)) }
	for _, i := range random.Perm(300) { // out of order: pages are balanced
		exec("INSERT INTO t VALUES (?, ?)", i, body(i))
	}
	exec("DELETE FROM t WHERE id % 3 = 0")
	if err := sqlitefile.Empty(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 300; i += 3 {
		if strings.Contains(string(raw), fmt.Sprintf("secret-%d ", i)) {
			t.Errorf("row %d is still in the file", i)
		}
	}
	var left int
	var whole string
	if err := db.QueryRowContext(t.Context(), "SELECT count(*), (SELECT integrity_check FROM pragma_integrity_check) FROM t").Scan(&left, &whole); err != nil || left != 200 || whole != "ok" {
		t.Errorf("%d rows are left, integrity %q: %v", left, whole, err)
	}
}
