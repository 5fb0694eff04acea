package main

import (
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/schemas"
	"satchel/test/conformance/eventlogtest"
)

func TestLookingMakesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{{"verify"}, {"verify", "--json"}, {"rebuild"}, {"doctor"}} {
		r := satchel(t, "", append(args, "--dir", dir, "--nats-url", "nats://127.0.0.1:1")...)
		if r.code != exitUsage || !strings.Contains(r.err, "no Satchel data in "+dir) {
			t.Errorf("satchel %v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Fatalf("satchel %v made %s", args, dir)
		}
	}
}

func TestVerifyNamesWhatIsWrongOnce(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	contains(t, "doctor of an empty log", n.must(t, "doctor"), "not asked: nothing is stored for tenant main yet")
	for _, tenant := range []string{"acme", "globex"} {
		n.must(t, "emit", "--text", "a", "--tenant", tenant)
	}
	for _, name := range []string{"verify", "rebuild"} {
		if r := n.run(t, name, "--tenant", "nosuch"); r.code != exitUsage || !strings.Contains(r.err, `no such tenant "nosuch"`) {
			t.Errorf("%s of an unknown tenant beside a node: exit code %d\n%s%s", name, r.code, r.out, r.err)
		}
	}
	contains(t, "rebuild without an HTTP address", satchel(t, "", "rebuild", "--dir", n.dir, "--tenant", "acme", "--http-addr", "").out, "rebuilt from 1 log entry")
	contains(t, "doctor", n.must(t, "doctor", "--tenant", "acme"), "those of the running process may be others", "weights sum to 1 (relevance 1)", "at most 122880 bytes",
		"decision cache", "of clearance internal was answered in ", ", without an item: none bears on it, or policy hides all")
	n.down(t)
	if r := satchel(t, "", "rebuild", "--dir", n.dir, "--tenant", "nosuch"); r.code != exitUsage || !strings.Contains(r.err, `no such tenant "nosuch"`) {
		t.Errorf("rebuild of an unknown tenant: exit code %d\n%s", r.code, r.err)
	}
	db, err := sql.Open("sqlite", filepath.Join(n.dir, "log.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE entries SET subject = subject || 'x' WHERE id = (SELECT min(id) FROM entries)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r := satchel(t, "", "verify", "--dir", n.dir)
	if r.code != exitFound || strings.Count(r.out, "BAD") != 1 || !strings.Contains(r.err, "1 of 2 logs do not verify") {
		t.Errorf("a tampered log: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := satchel(t, "", "doctor", "--dir", n.dir, "--nats-url", "nats://127.0.0.1:1"); r.code != exitFound || strings.Count(r.out, "bad at position") != 1 {
		t.Errorf("doctor of a tampered log: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := satchel(t, "", "verify", "--dir", n.dir, "--tenant", "globex"); r.code != 0 || strings.Contains(r.out, "acme") {
		t.Errorf("verify of the other tenant: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	keys := filepath.Join(n.dir, "keys")
	if err := os.RemoveAll(keys); err != nil {
		t.Fatal(err)
	}
	r = satchel(t, "", "verify", "--dir", n.dir, "--tenant", "globex")
	if r.code != exitFound || !strings.Contains(r.out, "log.key is missing") || !strings.Contains(r.out, "globex: 1 entry verified") {
		t.Errorf("verify without keys: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if _, err := os.Stat(keys); err == nil {
		t.Error("verify made a new key")
	}
}

// A bit of an index changes: verifying one tenant finds it as verifying all does, and a
// process that runs on it says so.
func TestVerifyFindsADamagedIndex(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, id := range []string{"note-a", "note-b"} {
		n.must(t, "emit", "--text", "a", "--id", id)
	}
	n.down(t)
	path := filepath.Join(n.dir, "log.db")
	for index, text := range map[string]string{"entries_subject": "note-a", "sqlite_autoindex_names_1": schemas.TypeMemoryRecorded, "sqlite_autoindex_tenants_1": "main"} {
		flipped := eventlogtest.FlipIndexed(t, path, index, text)
		for _, args := range [][]string{{"verify"}, {"verify", "-t", "main"}} {
			r := satchel(t, "", append(args, "--dir", n.dir)...)
			if r.code != exitFound || !strings.Contains(r.out, "BAD") || !strings.Contains(r.out, "does not lead to") {
				t.Errorf("%s: %v: exit code %d\n%s%s", index, args, r.code, r.out, r.err)
			}
		}
		eventlogtest.FlipIndexed(t, path, index, flipped)
	}
	if r := satchel(t, "", "verify", "-t", "main", "--dir", n.dir); r.code != 0 {
		t.Errorf("in order again: exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestUpSaysWhyItCannot(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r := satchel(t, "", "up", "--dir", t.TempDir(), "--nats-port", port, "--http-addr", "")
	if r.code != exitUsage || !strings.Contains(r.err, "port "+port+" is in use; choose another with --nats-port") {
		t.Errorf("a port in use: exit code %d\n%s", r.code, r.err)
	}
	file := filepath.Join(folder(t, map[string]string{"file": ""}), "file")
	r = satchel(t, "", "up", "--dir", file, "--nats-port", "0", "--http-addr", "")
	if r.code != exitUsage || !strings.Contains(r.err, "cannot use the data folder "+file+": ") {
		t.Errorf("a file as data folder: exit code %d\n%s", r.code, r.err)
	}
}
