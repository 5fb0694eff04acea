package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"satchel/cmd/internal/app"
)

// TestTenantLs lists the tenants beside a node and without one: what they have, and each state.
func TestTenantLs(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, tenant := range []string{"main", "acme"} {
		n.must(t, "emit", "-t", tenant, "--text", "the kiln is fired on Mondays")
	}
	older := n.dir + "-older"
	n.must(t, "emit", "-t", "acme", "--text", "celadon is green")
	states := func(want ...app.Tenant) {
		t.Helper()
		got := mustJSON[[]app.Tenant](t, n, "tenant", "ls")
		if len(got) != len(want) {
			t.Fatalf("%+v", got)
		}
		for i := range got {
			if time.Since(got[i].Last) > time.Hour || want[i].State == app.TenantRolledBack && got[i].Problem == "" {
				t.Errorf("%+v", got[i])
			}
			if got[i].Last, got[i].Problem = (time.Time{}), ""; got[i] != want[i] {
				t.Errorf("%+v, want %+v", got[i], want[i])
			}
		}
	}
	states(app.Tenant{Tenant: "acme", Size: 2, Items: 2, Indexed: 2, State: "ready"}, app.Tenant{Tenant: "main", Size: 1, Items: 1, Indexed: 1, State: "ready"})
	contains(t, "tenant ls", n.must(t, "tenant", "ls"), "acme    2    ", "  2      ready\n", "main    1    ")
	if out := n.must(t, "tenant", "ls", "-t", "main"); strings.Contains(out, "acme") {
		t.Errorf("the list of one tenant:\n%s", out)
	}
	if r := n.run(t, "tenant", "ls", "-t", "nobody"); r.code != exitUsage || !strings.Contains(r.err, "no such tenant") {
		t.Errorf("a tenant that is not there: exit code %d\n%s%s", r.code, r.out, r.err)
	}

	n.down(t)
	if err := os.CopyFS(older, os.DirFS(n.dir)); err != nil {
		t.Fatal(err)
	}
	again := startNode(t, "--dir", n.dir)
	again.dir = n.dir
	again.must(t, "emit", "-t", "acme", "--text", "the chimney is swept in spring")
	again.down(t)
	if err := os.Remove(filepath.Join(n.dir, "index", "items.db")); err != nil {
		t.Fatal(err)
	}
	states(app.Tenant{Tenant: "acme", Size: 3, State: "indexing"}, app.Tenant{Tenant: "main", Size: 1, State: "indexing"})
	if err := os.Rename(filepath.Join(older, "log.db"), filepath.Join(n.dir, "log.db")); err != nil {
		t.Fatal(err)
	}
	states(app.Tenant{Tenant: "acme", Size: 2, State: "rolled_back"}, app.Tenant{Tenant: "main", Size: 1, State: "indexing"})
}
