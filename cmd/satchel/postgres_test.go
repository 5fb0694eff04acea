package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"satchel/cmd/internal/app"
	"satchel/pipeline/store/eventlog"
	"satchel/pipeline/store/postgres"
	"satchel/pipeline/store/sqlite"
	"satchel/test/parts"
	"satchel/test/testenv"
	"satchel/test/testenv/postgrestest"
)

// stopping fails every transaction after the first few.
type stopping struct {
	eventlog.Driver
	after int
}

func (s *stopping) Update(ctx context.Context, tenants []string, fn func(eventlog.Tx) error) error {
	if s.after--; s.after < 0 {
		return errors.New("stopped")
	}
	return s.Driver.Update(ctx, tenants, fn)
}

// TestPostgres is a day with the log, the items and the keyword index in Postgres.
func TestPostgres(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"inproc", "postgres"} {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.Open(t)
			use := []string{"--database-url", url, "--keyword", index}
			with := func(args ...string) []string { return append(args, use...) }
			n := startNode(t, use...)
			n.must(t, "emit", "--item", `{"id":"key","kind":"memory","type":"episodic","security_label":["level:public"],"content":"the lighthouse key lies under the blue stone"}`)
			n.must(t, "emit", "--item", `{"id":"boat","kind":"memory","type":"episodic","security_label":["level:public"],"content":"the red boat leaks at the bow"}`)
			contains(t, "the pack", n.must(t, "ask", "where is the lighthouse key?"), "blue stone", "proof")
			if err := os.Remove(filepath.Join(n.dir, "log.db")); !os.IsNotExist(err) {
				t.Errorf("a log in the folder beside the database: %v", err)
			}
			if r := n.run(t, "emit", "--agent", "other", "--id", "key", "--text", "the key was thrown into the sea"); r.code != 1 || !strings.Contains(r.err, "policy_denied") {
				t.Errorf("another agent's item is recorded again: exit code %d, %s", r.code, r.err)
			}
			n.must(t, "emit", "--agent", "other", "--wait", "accepted", "--id", "key", "--text", "the key was thrown into the sea")
			contains(t, "policy explain", satchel(t, "", with("policy", "explain", "--dir", n.dir, "--id", "key")...).out, "allowed  item key", "blue stone")
			contains(t, "the receipt", n.must(t, "forget", "boat"), "nothing left")
			if r := satchel(t, "", with("policy", "explain", "--dir", n.dir, "--id", "boat")...); r.code != exitUsage || !strings.Contains(r.err, `no item "boat"`) {
				t.Errorf("policy explain of what is not there: exit code %d, %s", r.code, r.err)
			}
			if out := n.must(t, "ask", "which boat leaks?"); strings.Contains(out, "red boat") {
				t.Errorf("the forgotten is shown:\n%s", out)
			}
			contains(t, "verify", n.must(t, with("verify")...), "verified")
			doctor := n.run(t, with("doctor")...)
			contains(t, "doctor of a database without fsync", doctor.out, "fsync is off", "log of main")
			contains(t, "the dead letters", n.must(t, "dlq", "ls"), "policy_denied")
			n.down(t)
			contains(t, "rebuild", satchel(t, "", with("rebuild", "--dir", n.dir)...).out, "rebuilt from")
			after := startNode(t, append(use, "--dir", n.dir)...)
			after.dir = n.dir
			contains(t, "the pack after a restart", after.must(t, "ask", "where is the lighthouse key?"), "blue stone")
			after.down(t)
			other := satchel(t, "", with("verify", "--dir", t.TempDir())...)
			if other.code == 0 {
				t.Errorf("a folder without the log's key went on: %s", other.out)
			}
			config := satchel(t, "", with("config")...)
			if password := strings.SplitN(strings.SplitN(url, "@", 2)[0], ":", 3)[2]; strings.Contains(config.out, password) {
				t.Errorf("config prints the password:\n%s", config.out)
			}
		})
	}
}

// TestMigrate moves a log with packs and erasures from a folder to Postgres, interrupted
// half-way, and goes on there.
func TestMigrate(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	testenv.TooLongRaced(t)
	url := postgrestest.Open(t)
	n := startNode(t)
	var lines strings.Builder
	for i := range 3000 {
		item, err := json.Marshal(map[string]any{"id": fmt.Sprint("n", i), "kind": "memory", "type": "episodic", "content": fmt.Sprintf("note %d about the lake house", i), "created_at": "2026-01-02T03:04:05Z", "security_label": []string{"level:public"}})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(item, '\n'))
	}
	if r := n.runIn(t, lines.String(), "import", "-"); r.code != 0 {
		t.Fatal(r.err)
	}
	n.must(t, "ask", "what about the lake house?")
	n.must(t, "forget", "n7", "n8")
	migrate := func() result { return satchel(t, "", "migrate", "--dir", n.dir, "--to", url) }
	if r := migrate(); r.code == 0 || !strings.Contains(r.err, "stop it first") {
		t.Errorf("a running node was migrated: %s%s", r.out, r.err)
	}
	n.down(t)
	digest := satchel(t, "", "rebuild", "--dir", n.dir).out
	digest = digest[strings.LastIndex(digest, " ")+1:]
	interrupted(t, n.dir, url)
	if r := satchel(t, "", "verify", "--dir", n.dir, "--database-url", url); r.code == 0 || !strings.Contains(r.err, "interrupted") {
		t.Errorf("half a log is used: %s%s", r.out, r.err)
	}
	r := migrate()
	if r.code != 0 {
		t.Fatalf("migrate: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	contains(t, "migrate", r.out, "heads equal", strings.TrimSpace(digest))
	if r := migrate(); r.code != 0 {
		t.Errorf("again, with nothing left to do: %s%s", r.out, r.err)
	}
	if r := satchel(t, "", "up", "--dir", n.dir, "--nats-port", "0", "--http-addr", ""); r.code != 2 || !strings.Contains(r.err, "set DATABASE_URL") {
		t.Errorf("the old log is used after it was moved: exit code %d %s%s", r.code, r.out, r.err)
	}
	after := startNode(t, "--dir", n.dir, "--database-url", url)
	after.dir = n.dir
	contains(t, "the pack after the migration", after.must(t, "ask", "what about the lake house?"), "lake house")
	contains(t, "verify", after.must(t, "verify", "--database-url", url), "verified")
	if r := migrate(); r.code == 0 {
		t.Errorf("the old log was copied over one that has gone on: %s%s", r.out, r.err)
	}
}

// interrupted leaves the target as a migration does that was killed half-way.
func interrupted(t *testing.T, dir, url string) {
	t.Helper()
	from, err := sqlite.OpenLog(t.Context(), sqlite.LogConfig{Path: filepath.Join(dir, "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := postgres.OpenLog(t.Context(), postgres.LogConfig{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := eventlog.Mark(t.Context(), to, app.MigrateMark, app.MigrateBegun); err != nil {
		t.Fatal(err)
	}
	stopped := &stopping{Driver: to, after: 3}
	if _, err := eventlog.Copy(t.Context(), from, stopped, "main", nil); err == nil {
		t.Fatal("the copy was not interrupted")
	}
}

// TestMigrateRefuses leaves a database alone that holds another log.
func TestMigrateRefuses(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	url := postgrestest.Open(t)
	one, two := startNode(t, "--database-url", url), startNode(t)
	one.must(t, "emit", "--text", "one", "--label", "level:public")
	two.must(t, "emit", "--text", "two", "--label", "level:public")
	one.down(t)
	two.down(t)
	before := dumpLog(t, url)
	r := satchel(t, "", "migrate", "--dir", two.dir, "--to", url)
	if r.code != 2 || !strings.Contains(r.err, "holds a log") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
	if after := dumpLog(t, url); after != before {
		t.Errorf("the refused database was changed:\n%s\n%s", before, after)
	}
}

func dumpLog(t *testing.T, url string) (text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const query = "SELECT (SELECT string_agg(e::text, '|') FROM satchel_log.entries e) || (SELECT string_agg(t::text, '|') FROM satchel_log.tenants t)"
	if err := conn.QueryRow(t.Context(), query).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}
