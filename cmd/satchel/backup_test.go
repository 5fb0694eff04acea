package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// figure is what /metrics says of a family without labels.
func (n *testNode) figure(t *testing.T, name string) float64 {
	t.Helper()
	res, err := http.Get("http://" + n.http + "/metrics") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(raw)
	if err != nil || found == nil {
		t.Fatalf("/metrics has no %s (%v)", name, err)
	}
	v, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBackupMetrics: a worker knows the last backup that succeeded, also after its start; one that
// fails changes nothing.
func TestBackupMetrics(t *testing.T) {
	t.Parallel()
	const at, position = "satchel_backup_last_success_timestamp_seconds", "satchel_backup_last_success_position"
	n, to := startNode(t), t.TempDir()
	for i, tenant := range []string{"main", "main", "other"} {
		n.must(t, "emit", "--id", fmt.Sprint("n", i), "--text", "the kiln is fired", "--tenant", tenant, "--wait", "indexed")
	}
	if n.figure(t, at) != 0 || n.figure(t, position) != 0 {
		t.Error("a backup before the first one")
	}
	begun := float64(time.Now().Unix())
	n.must(t, "backup", to, "--since", "last")
	made := n.figure(t, at)
	if made < begun || made > float64(time.Now().Unix()) || n.figure(t, position) != 3 {
		t.Errorf("backed up at %v, %v entries", made, n.figure(t, position))
	}
	n.must(t, "emit", "--id", "n4", "--text", "the glaze is celadon", "--wait", "indexed")
	if r := n.run(t, "backup", folder(t, map[string]string{"other": ""})); r.code != exitUsage {
		t.Fatalf("a backup among other files: exit code %d\n%s", r.code, r.err)
	}
	if n.figure(t, at) != made || n.figure(t, position) != 3 {
		t.Error("a backup that failed counts")
	}
	n.down(t)
	again := startNode(t, "--dir", n.dir)
	if again.figure(t, at) != made || again.figure(t, position) != 3 {
		t.Errorf("after a start: backed up at %v, %v entries", again.figure(t, at), again.figure(t, position))
	}
}

// TestRestoreWithoutAList: a restore that knows no list of erasures cannot know that one is back.
func TestRestoreWithoutAList(t *testing.T) {
	t.Parallel()
	n, from := startNode(t), t.TempDir()
	n.must(t, "emit", "--id", "n1", "--text", "the kiln is fired", "--wait", "indexed")
	n.must(t, "backup", from)
	n.must(t, "forget", "n1")
	n.down(t)
	restored := func(files ...string) string {
		to := t.TempDir()
		for _, name := range append(files, "keys") {
			if err := os.CopyFS(filepath.Join(to, name), os.DirFS(filepath.Join(n.dir, name))); err != nil {
				t.Fatal(err)
			}
		}
		r := satchel(t, "", "restore", from, "--to", to)
		if r.code != 0 || !strings.Contains(r.out, "main: ") {
			t.Fatalf("restore: exit code %d\n%s%s", r.code, r.out, r.err)
		}
		return r.err
	}
	contains(t, "without a list", restored(), "if anything was erased after ", " UTC, it is back: no newer list")
	if said := restored("erased"); strings.Contains(said, "it is back") {
		t.Errorf("with the list of the lost folder: %s", said)
	}
}
