package sqlite_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/sqlite"
	"satchel/schemas"
)

func system(tb testing.TB, tenant string) scope.Scope {
	tb.Helper()
	s, err := scope.System(tenant)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// pack returns a pack whose attachment is rendered.
func pack(tenant, id, rendered string, items ...string) eventlog.Draft {
	sum := sha256.Sum256([]byte(rendered))
	return eventlog.Draft{
		Tenant: tenant, Agent: "engine", Type: "io.satchel.context.packed.v1", Source: "satchel://engine", ID: id, Subject: "r-" + id,
		Data: fmt.Appendf(nil, `{"result_sha256":%q,"items":%q}`, hex.EncodeToString(sum[:]), items), Attachment: eventlog.Derive(items, []byte(rendered)),
	}
}

// seed makes a log in path with entries, packs, an erasure and a checkpoint, and closes it.
func seed(t *testing.T, path string) {
	t.Helper()
	db, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	l, err := eventlog.New(eventlog.Config{Driver: db})
	if err != nil {
		t.Fatal(err)
	}
	batch := append(drafts(0, 150), pack("acme", "p1", "rendered one", "m-1", "m-2"), pack("acme", "p2", strings.Repeat("rendered two ", 400), "m-2"))
	other := drafts(0, 3)
	for i := range other {
		other[i].Tenant = "globex"
	}
	cp := &eventlog.Checkpoint{Name: "append/p00", Fence: 3, Epoch: "epoch", StreamSeq: 152, Hash: sha256.Sum256([]byte("last"))}
	if _, err := l.Append(t.Context(), eventlog.Batch{Drafts: append(batch, other...), Checkpoint: cp}); err != nil {
		t.Fatal(err)
	}
	erasure := eventlog.Draft{Tenant: "acme", Type: schemas.TypeMemoryErased, Source: "satchel://engine", ID: "e", Data: []byte(`{"items":[],"receipt":{"positions":[5]}}`)}
	if _, err := l.AppendErasure(t.Context(), system(t, "acme"), erasure, []int64{5}, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// verify opens path as the verify command does, and verifies everything.
func verify(t *testing.T, path string) error {
	t.Helper()
	db, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: path, Readers: 1})
	if err != nil {
		return err
	}
	l, err := eventlog.New(eventlog.Config{Driver: db})
	if err != nil {
		t.Fatal(err)
	}
	_, _, fenceErr := l.TakeFence(t.Context(), "append/p00")
	return errors.Join(l.VerifyAll(t.Context(), nil), fenceErr, l.Close())
}

func clone(t *testing.T, from, to string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(from + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(to+suffix, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTamper changes every column of every table, in an erased row and
// one with an attachment, and removes these rows: verify must find each.
func TestTamper(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "log.db")
	seed(t, path)
	if err := verify(t, path); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, table := range []string{"tenants", "names", "entries", "content", "shown", "hashes", "checkpoints"} {
		columns, keys := describe(t, path, table)
		for _, key := range keys {
			for _, column := range append(columns, "") {
				n++
				bad := filepath.Join(folder, fmt.Sprintf("bad%d.db", n))
				clone(t, path, bad)
				if !tamper(t, bad, table, column, key) {
					continue
				}
				err := verify(t, bad)
				// A checkpoint that is gone, or has another name, is one that never was.
				if err == nil && (table != "checkpoints" || (column != "" && column != "name")) {
					t.Errorf("%s.%s of row %s: the change was not found", table, column, key)
				} else if err != nil && !errors.Is(err, eventlog.ErrCorrupt) {
					t.Errorf("%s.%s of row %s: %v", table, column, key, err)
				}
				if position, ok := positionOf(table, key); ok && column != "" {
					var at *eventlog.VerifyError
					if column != "id" && column != "event" && (!errors.As(err, &at) || at.Position != position) {
						t.Errorf("%s.%s of row %s: %v, want position %d", table, column, key, err, position)
					}
				}
				if err := os.Remove(bad); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestTamperLive changes the database under a running log: what is verified comes from
// the file, and reading never gives the changed entry.
func TestTamperLive(t *testing.T) {
	t.Parallel()
	for table, change := range map[string]struct{ column, key string }{
		"names": {"name", "1"}, "entries": {"subject", fmt.Sprint(1<<40 + 1)}, "content": {"data", "1"},
	} {
		path := filepath.Join(t.TempDir(), "log.db")
		seed(t, path)
		l, s := openLog(t, path), system(t, "acme")
		if _, err := l.Read(t.Context(), s, 0, 0); err != nil {
			t.Fatal(err)
		}
		tamper(t, path, table, change.column, change.key)
		var at *eventlog.VerifyError
		if err := l.Verify(t.Context(), s, nil, nil); !errors.As(err, &at) || at.Position != 1 {
			t.Errorf("%s: %v", table, err)
		}
		if _, err := l.Read(t.Context(), s, 0, 0); !errors.Is(err, eventlog.ErrCorrupt) {
			t.Errorf("%s: read gives %v", table, err)
		}
	}
}

// positionOf returns the position of an entry row of the first tenant.
func positionOf(table, key string) (int64, bool) {
	var id int64
	if _, err := fmt.Sscan(key, &id); err != nil || table != "entries" {
		return 0, false
	}
	return id & (1<<40 - 1), true
}

func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// describe returns a table's columns and the keys (rowids or names) of some rows.
func describe(t *testing.T, path, table string) (columns, keys []string) {
	t.Helper()
	db := raw(t, path)
	defer db.Close()
	rows, err := db.Query("SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		columns = append(columns, name)
	}
	if rows, err = db.Query("SELECT CAST(" + columns[0] + " AS TEXT) FROM " + table + " ORDER BY " + columns[0]); err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		all = append(all, key)
	}
	if err := rows.Err(); err != nil || len(all) == 0 {
		t.Fatal(table, err)
	}
	seen := map[string]bool{}
	for _, i := range []int{min(4, len(all)-1), min(151, len(all)-1)} {
		if !seen[all[i]] {
			seen[all[i]] = true
			keys = append(keys, all[i])
		}
	}
	return columns, keys
}

// tamper changes one byte of a column, or removes the row for column "".
func tamper(t *testing.T, path, table, column, key string) bool {
	t.Helper()
	db := raw(t, path)
	defer db.Close()
	first := map[string]string{"shown": "entry", "checkpoints": "name"}[table]
	if first == "" {
		first = "id"
	}
	where := " WHERE CAST(" + first + " AS TEXT) = ?"
	if column == "" {
		if _, err := db.Exec("DELETE FROM "+table+where, key); err != nil {
			t.Fatal(err)
		}
		return true
	}
	var kind string
	var value any
	if err := db.QueryRow("SELECT typeof("+column+"), "+column+" FROM "+table+where, key).Scan(&kind, &value); err != nil {
		t.Fatal(err)
	}
	var changed any
	switch v := value.(type) {
	case int64:
		changed = v ^ 1<<20 // beyond every id in use
	case string:
		changed = "x" + v[min(1, len(v)):]
	case []byte:
		b := bytes.Clone(v)
		if len(b) == 0 {
			b = []byte{1}
		}
		b[len(b)/2] ^= 4
		changed = b
	default: // null
		changed = map[string]any{"time": int64(7), "attachment": make([]byte, 32), "attached": int64(1)}[column]
	}
	res, err := db.Exec("UPDATE "+table+" SET "+column+" = ?"+where, changed, key)
	if err != nil {
		if strings.Contains(err.Error(), "constraint") {
			return false
		}
		t.Fatal(err)
	}
	n, err := res.RowsAffected()
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
	return true
}

// TestFlippedBytes flips single bytes all over the file: verify must find each one that
// changes what is stored, and say so by ErrCorrupt; reading must never give other data.
func TestFlippedBytes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "log.db")
	seed(t, path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := dump(t, path)
	for i := range 25 {
		at := (i*23719 + 131) % len(good)
		bad := filepath.Join(folder, "flipped.db")
		b := bytes.Clone(good)
		b[at] ^= 0x10
		if err := os.WriteFile(bad, b, 0o600); err != nil {
			t.Fatal(err)
		}
		err := verify(t, bad)
		if err == nil && dump(t, bad) != want {
			t.Errorf("byte %d: changed what is stored, and was not found", at)
		}
		if err != nil && !errors.Is(err, eventlog.ErrCorrupt) && !strings.Contains(err.Error(), "not a Satchel event log") {
			t.Errorf("byte %d: %v does not name damage", at, err)
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(bad + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
}

// dump returns all that a log gives its readers.
func dump(t *testing.T, path string) string {
	t.Helper()
	l := openLog(t, path)
	var b strings.Builder
	for _, tenant := range []string{"acme", "globex"} {
		entries, err := l.Read(t.Context(), system(t, tenant), 0, 0)
		fmt.Fprintln(&b, entries, err)
	}
	return b.String()
}

func TestDamagedFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "log.db")
	seed(t, path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"garbage":   bytes.Repeat([]byte("garbage "), 2000),
		"truncated": b[:len(b)/2/4096*4096],
		"torn":      b[:len(b)-1000],
		"header":    append(bytes.Repeat([]byte{0xff}, 100), b[100:]...),
	} {
		bad := filepath.Join(folder, name+".db")
		if err := os.WriteFile(bad, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := verify(t, bad); !errors.Is(err, eventlog.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	foreign := filepath.Join(folder, "foreign.db")
	for pragma, want := range map[string]string{"user_version = 99": "this program reads 4 only", "application_id = 7": "not a Satchel event log"} {
		clone(t, path, foreign)
		db := raw(t, foreign)
		if _, err := db.Exec("PRAGMA " + pragma); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlite.OpenLog(context.Background(), sqlite.LogConfig{Path: foreign}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pragma, err)
		}
	}
}
