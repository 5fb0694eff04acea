package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/cmd/internal/app"
	"satchel/test/parts"
	"satchel/test/testenv/natstest"
	"satchel/test/testenv/postgrestest"
)

// refusedInUse expects that the command says that this process holds the folder.
func refusedInUse(t *testing.T, dir string, args ...string) {
	t.Helper()
	r := satchel(t, "", append(args, "--dir", dir)...)
	if r.code != exitUsage {
		t.Errorf("satchel %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.out)
	}
	contains(t, "satchel "+args[0], r.err, fmt.Sprintf("data folder %q is in use by process %d, since ", dir, os.Getpid()), "; stop it first, or name another folder with --dir")
}

// TestOneProcessWritesToAFolder holds on a NATS that is not the folder's own.
func TestOneProcessWritesToAFolder(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t, natstest.Config{Servers: 1}).URL()
	other := natstest.Start(t, natstest.Config{Servers: 1}).URL()
	n := startNode(t, "--nats-url", url, "--stream-mb", "256")
	if r := satchel(t, "", "emit", "--text", "the kiln is fired on Mondays", "--nats-url", url); r.code != 0 {
		t.Fatalf("emit: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	refusedInUse(t, n.dir, "up", "--nats-url", other, "--stream-mb", "256", "--http-addr", "")
	refusedInUse(t, n.dir, "up", "--nats-port", "0", "--http-addr", "")
	refusedInUse(t, n.dir, "worker", "--nats-url", other, "--database-url", "postgres://nobody@127.0.0.1:1/none", "--http-addr", "")
	refusedInUse(t, n.dir, "migrate", "--to", "postgres://nobody@127.0.0.1:1/none")
	refusedInUse(t, n.dir, "rollback", "--accept", "--nats-url", url)
	contains(t, "rebuild", n.must(t, "rebuild", "--nats-url", url), "rebuilt from 1 log entry")
	if err := os.Rename(filepath.Join(n.dir, app.AdminFile), filepath.Join(n.dir, "away.sock")); err != nil {
		t.Fatal(err)
	}
	if r := satchel(t, "", "rebuild", "--dir", n.dir, "--nats-url", url); r.code != exitUsage || !strings.Contains(r.err, fmt.Sprintf("process %d works on %s", os.Getpid(), n.dir)) {
		t.Errorf("a rebuild that can ask nobody: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	contains(t, "verify", n.must(t, "verify"), "1 entry verified")
	contains(t, "reembed", n.must(t, "reembed", "--shadow"), "the configured model")
	if n.down(t) != 0 {
		t.Error("the node did not stop well")
	}
	contains(t, "rebuild", satchel(t, "", "rebuild", "--dir", n.dir, "--nats-url", url, "--http-addr", "").out, "rebuilt from 1 log entry")
	if r := satchel(t, "", "rollback", "--dir", n.dir, "--nats-url", url); r.code != 0 {
		t.Errorf("rollback of a folder that nobody has: exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

// TestATrialBesideARunningProcess keeps none of its vectors: what the process forgets
// meanwhile would be among them.
func TestATrialBesideARunningProcess(t *testing.T) {
	t.Parallel()
	url, _ := embeddingsServer(t, nil)
	n := startNode(t, "--embeddings-url", url, "--embeddings-model", "m1")
	n.must(t, "emit", "--text", "the kiln is fired on Mondays")
	kept := func() (count int) {
		db, err := sql.Open("sqlite", filepath.Join(n.dir, "index", "embeddings.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow("SELECT count(*) FROM vectors JOIN models ON num = model WHERE name LIKE '%m2%'").Scan(&count); err != nil {
			t.Fatal(err)
		}
		return count
	}
	try := func() string {
		return n.must(t, "reembed", "--shadow", "--embeddings-url", url, "--embeddings-model", "m2")
	}
	contains(t, "beside a process", try(), "1 log entry embedded")
	if count := kept(); count != 0 {
		t.Errorf("%d vectors were kept beside a running process", count)
	}
	n.down(t)
	contains(t, "alone", try(), "1 log entry embedded")
	if kept() == 0 {
		t.Error("no vectors were kept")
	}
}

// TestAMigratedLogThatWasContinued is brought over by another migrate, and rollback leaves
// it alone.
func TestAMigratedLogThatWasContinued(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	url := postgrestest.Open(t)
	n := startNode(t)
	n.must(t, "emit", "--id", "one", "--text", "the lighthouse key lies under the blue stone", "--label", "level:public")
	n.down(t)
	migrate := func() {
		t.Helper()
		if r := satchel(t, "", "migrate", "--dir", n.dir, "--to", url); r.code != 0 {
			t.Fatalf("migrate: exit code %d\n%s%s", r.code, r.out, r.err)
		}
	}
	migrate()
	moved, head := filepath.Join(n.dir, app.MovedFile), filepath.Join(n.dir, "heads", "main.checkpoint")
	mark, err := os.ReadFile(moved)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(moved); err != nil {
		t.Fatal(err)
	}
	on := startNode(t, "--dir", n.dir)
	on.dir = n.dir
	on.must(t, "emit", "--id", "two", "--text", "the red boat leaks at the bow", "--label", "level:public")
	on.must(t, "verify") // keeps the head
	on.down(t)
	if err := os.WriteFile(moved, mark, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"up", "--nats-port", "0", "--http-addr", ""}, {"rollback", "--accept"}, {"verify"}} {
		r := satchel(t, "", append(args, "--dir", n.dir, "--database-url", url)...)
		if r.code != exitUsage || strings.Contains(r.err, "backup") {
			t.Errorf("satchel %s: exit code %d\n%s%s", args[0], r.code, r.out, r.err)
		}
		contains(t, "satchel "+args[0], r.err, `the log of tenant "main" has 2 entries in `+filepath.Join(n.dir, "log.db")+", and 1 in postgres://", "run satchel migrate again, with DATABASE_URL unset")
	}
	if after, err := os.ReadFile(head); err != nil || string(after) != string(before) {
		t.Errorf("the kept head was changed: %v", err)
	}
	migrate()
	last := startNode(t, "--dir", n.dir, "--database-url", url)
	last.dir = n.dir
	last.must(t, "emit", "--id", "three", "--text", "the kiln is fired on Mondays", "--label", "level:public")
	contains(t, "verify", last.must(t, "verify", "--database-url", url), "main: 3 entries verified") // none came twice
	contains(t, "the pack", last.must(t, "ask", "which boat leaks?"), "red boat")
}
