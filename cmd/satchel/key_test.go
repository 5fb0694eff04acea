package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/postgrestest"
)

const (
	foreignKey  = "this folder's key is not the one that signs the log in the database: copy log.key and log.pub from the folder of the worker that made it"
	unsignedBy  = "this folder's key is not the one that signed"
	lostKeyHint = "docs/how-to/keys.md says how to go on when they are lost"
)

// installation returns a folder with a key and nothing else.
func installation(t *testing.T) string {
	t.Helper()
	a := &app.App{Settings: &config.Settings{Dir: t.TempDir()}}
	if err := os.Mkdir(a.Path("keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.LogKey(nil); err != nil {
		t.Fatal(err)
	}
	return a.Dir
}

// copyKeys gives the folder to the key of from.
func copyKeys(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(to, "keys")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(to, "keys"), os.DirFS(filepath.Join(from, "keys"))); err != nil {
		t.Fatal(err)
	}
}

// upFails runs satchel up on a folder that it refuses.
func upFails(t *testing.T, dir string, args ...string) result {
	t.Helper()
	return satchel(t, "", append([]string{"up", "--dir", dir, "--nats-port", "0", "--http-addr", ""}, args...)...)
}

// unclaim makes a database one that names no key, as those of earlier versions.
func unclaim(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	tag, err := conn.Exec(t.Context(), "DELETE FROM satchel_log.checkpoints WHERE name = 'key'")
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("the database named no key: %v", err)
	}
}

// TestOneKeyClaimsALog: of workers that open an empty database at once, each with a key of
// its own, one gets it.
func TestOneKeyClaimsALog(t *testing.T) {
	t.Parallel()
	database := postgrestest.Open(t)
	var wait sync.WaitGroup
	opened := make(chan string, 6)
	for range cap(opened) {
		a := &app.App{Settings: &config.Settings{Dir: t.TempDir(), DatabaseURL: database, DatabaseSchema: "satchel", DatabaseConns: 2}}
		wait.Go(func() {
			log, _, err := a.OpenLog(t.Context(), app.Fixed{})
			if err == nil {
				opened <- a.Dir
				if err := log.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if usage := (*config.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "copy log.key and log.pub from the folder of the worker that made it") {
				t.Errorf("a second key: %v", err)
			}
		})
	}
	wait.Wait()
	if len(opened) != 1 {
		t.Fatalf("%d of %d keys sign one log", len(opened), cap(opened))
	}
	if r := upFails(t, t.TempDir(), "--database-url", database); r.code != exitUsage || !strings.Contains(r.err, "the key that signs it is missing") {
		t.Errorf("no key, and an empty log that has one: exit code %d %s", r.code, r.err)
	}
}

// TestTheKeyOfADatabase is what folders with the log's key, and with another, can do.
func TestTheKeyOfADatabase(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	database := postgrestest.Open(t)
	use := []string{"--database-url", database}
	with := func(dir string, args ...string) result {
		return satchel(t, "", append(append(args, "--dir", dir), use...)...)
	}
	n := startNode(t, use...)
	n.must(t, "emit", "--text", "the lighthouse key lies under the blue stone", "--label", "level:public")
	n.run(t, "doctor", "--database-url", database) // asks for the head, which is kept
	n.down(t)
	other := installation(t)
	if r := upFails(t, other, use...); r.code != exitUsage || r.err != "satchel: "+foreignKey+"\n" {
		t.Errorf("another key: exit code %d %s", r.code, r.err)
	}
	if r := with(other, "rebuild"); r.code != exitUsage || !strings.Contains(r.err, foreignKey) {
		t.Errorf("rebuild with another key: exit code %d %s", r.code, r.err)
	}
	r := with(other, "verify")
	if r.code != exitFound {
		t.Errorf("verify with another key: exit code %d %s", r.code, r.err)
	}
	contains(t, "verify with another key", r.out, "BAD: "+foreignKey, " verified, root ")
	contains(t, "doctor with another key", with(other, "doctor").out, "NO   log                    "+foreignKey)
	contains(t, "doctor", with(n.dir, "doctor").out, "ok   key of the log         the log in the database names this folder's key")

	unclaim(t, database)
	contains(t, "doctor of a log without a key", with(other, "doctor").out, "ok   key of the log         the log in the database names no key yet")
	if err := os.CopyFS(filepath.Join(other, "heads"), os.DirFS(filepath.Join(n.dir, "heads"))); err != nil {
		t.Fatal(err)
	}
	if r := upFails(t, other, use...); r.code != exitUsage || !strings.Contains(r.err, unsignedBy+" "+filepath.Join(other, "heads", "main.checkpoint")) {
		t.Errorf("a key that did not sign the kept head: exit code %d %s", r.code, r.err)
	}
	second := t.TempDir()
	copyKeys(t, n.dir, second)
	after := startNode(t, append(use, "--dir", second)...)
	after.down(t)
	if r := with(n.dir, "verify"); r.code != 0 {
		t.Errorf("verify: exit code %d %s%s", r.code, r.out, r.err)
	}
	if err := os.RemoveAll(filepath.Join(other, "heads")); err != nil {
		t.Fatal(err)
	}
	if r := upFails(t, other, use...); r.code != exitUsage || !strings.Contains(r.err, foreignKey) {
		t.Errorf("another key, after the log's own was back: exit code %d %s", r.code, r.err)
	}

	// The way of docs/how-to/keys.md when the key is lost.
	copyKeys(t, other, n.dir)
	if err := os.Rename(filepath.Join(n.dir, "heads"), filepath.Join(n.dir, "heads.old")); err != nil {
		t.Fatal(err)
	}
	unclaim(t, database)
	lost := startNode(t, append(use, "--dir", n.dir)...)
	lost.down(t)
	if r := with(n.dir, "verify"); r.code != 0 {
		t.Errorf("verify with a new key: exit code %d %s%s", r.code, r.out, r.err)
	}
	if r := upFails(t, second, use...); r.code != exitUsage || !strings.Contains(r.err, foreignKey) {
		t.Errorf("the old key: exit code %d %s", r.code, r.err)
	}
}

// TestTheKeyOfAFolder: a key that did not sign the kept heads is not a damaged log.
func TestTheKeyOfAFolder(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--text", "the kiln is cold", "--label", "level:public")
	n.run(t, "doctor") // asks for the head, which is kept
	n.down(t)
	other := installation(t)
	copyKeys(t, other, n.dir)
	for _, r := range []result{upFails(t, n.dir), satchel(t, "", "rollback", "--dir", n.dir)} {
		if r.code != exitUsage || !strings.Contains(r.err, unsignedBy) || !strings.Contains(r.err, lostKeyHint) || strings.Contains(r.err, "damaged") {
			t.Errorf("exit code %d %s", r.code, r.err)
		}
	}
	r := satchel(t, "", "verify", "--dir", n.dir)
	if r.code != exitFound {
		t.Errorf("verify: exit code %d %s", r.code, r.err)
	}
	contains(t, "verify", r.out, "BAD: "+unsignedBy, "main: 1 entry verified")
	raw, err := os.ReadFile(filepath.Join(installation(t), "keys", "log.pub"))
	if err == nil {
		err = os.WriteFile(filepath.Join(other, "keys", "log.pub"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := upFails(t, other); r.code != exitUsage || !strings.Contains(r.err, "is not the public half of") {
		t.Errorf("halves of two keys: exit code %d %s", r.code, r.err)
	}
	if err := os.Rename(filepath.Join(n.dir, "heads"), filepath.Join(n.dir, "heads.old")); err != nil {
		t.Fatal(err)
	}
	startNode(t, "--dir", n.dir).down(t)
}

// TestMigrateClaims: what migrate fills is the key's, and what is another key's is not filled.
func TestMigrateClaims(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	database := postgrestest.Open(t)
	n := startNode(t)
	n.must(t, "emit", "--text", "the kiln is cold", "--label", "level:public")
	n.down(t)
	other := installation(t)
	startNode(t, "--dir", other, "--database-url", database).down(t)
	if r := satchel(t, "", "migrate", "--dir", n.dir, "--to", database); r.code != exitUsage || !strings.Contains(r.err, "the database names another key for its log") {
		t.Errorf("a database of another key: exit code %d %s", r.code, r.err)
	}
	unclaim(t, database)
	if r := satchel(t, "", "migrate", "--dir", n.dir, "--to", database); r.code != 0 {
		t.Fatalf("migrate: exit code %d %s", r.code, r.err)
	}
	if r := upFails(t, other, "--database-url", database); r.code != exitUsage || !strings.Contains(r.err, foreignKey) {
		t.Errorf("another key after a migration: exit code %d %s", r.code, r.err)
	}
}

// TestDatabaseSettings: what cannot work until a setting is changed ends with exit code 2.
func TestDatabaseSettings(t *testing.T) {
	t.Parallel()
	database := postgrestest.Open(t)
	free, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(*url.URL)) string {
		u, err := url.Parse(database)
		if err != nil {
			t.Fatal(err)
		}
		f(u)
		return u.String()
	}
	for name, c := range map[string]struct {
		url, want string
		code      int
	}{
		"password":  {change(func(u *url.URL) { u.User = url.UserPassword("satchel", "wrong") }), "refuses user", exitUsage},
		"database":  {change(func(u *url.URL) { u.Path = "absent" }), "has no database", exitUsage},
		"TLS":       {change(func(u *url.URL) { u.RawQuery = "sslmode=verify-full" }), "has no TLS", exitUsage},
		"malformed": {"postgres://satchel:%zz@host/db", "cannot be read", exitUsage},
		"away":      {change(func(u *url.URL) { u.Host = fmt.Sprint("127.0.0.1:", free) }), "no Postgres answers", exitFailed},
	} {
		for what, r := range map[string]result{"up": upFails(t, t.TempDir(), "--database-url", c.url), "verify": satchel(t, "", "verify", "--dir", t.TempDir(), "--database-url", c.url)} {
			if r.code != c.code || !strings.Contains(r.err, c.want) {
				t.Errorf("%s, %s: exit code %d, want %d %s", what, name, r.code, c.code, r.err)
			}
		}
	}
	if r := upFails(t, t.TempDir(), "--database-url", database, "--keyword", "postgres", "--keyword-language", "klingon"); r.code != exitUsage || !strings.Contains(r.err, "no text search configuration") {
		t.Errorf("a language that is not there: exit code %d %s", r.code, r.err)
	}
}
