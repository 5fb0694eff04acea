package main

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"satchel/cmd/internal/app"
	"satchel/test/testenv"
	"satchel/test/testenv/neo4jtest"
	"satchel/test/testenv/qdranttest"
)

// onServers returns settings that put graph and vectors on servers.
func onServers(t *testing.T) []string {
	t.Helper()
	g, v := neo4jtest.Open(t), qdranttest.Open(t)
	return []string{"--neo4j-url", g.URL, "--neo4j-user", g.User, "--neo4j-password", g.Password, "--neo4j-namespace", g.Namespace,
		"--qdrant-url", v.URL, "--qdrant-api-key", v.APIKey, "--qdrant-collection", v.Collection}
}

// TestServersHoldWhatTheFolderHolds runs a node whose graph and vectors are on servers,
// then fills the indexes of the data folder from its log: ids, versions, facets, vectors,
// entities and links are the same to the byte.
func TestServersHoldWhatTheFolderHolds(t *testing.T) {
	t.Parallel()
	testenv.TooLongRaced(t)
	servers := onServers(t)
	n := startNode(t, servers...)
	do := func(args ...string) string { t.Helper(); return n.must(t, append(args, servers...)...) }
	do("emit", "--text", "Maya moved the release of Project Heron to Thursday.", "--id", "m1")
	do("emit", "--item", `{"id":"m2","kind":"knowledge","type":"semantic","security_label":["level:internal"],"links":[{"rel":"caused_by","to":"m1"}],"content":"Project Heron waits for the staging cluster. "}`)
	do("emit", "--text", strings.Repeat("The staging cluster of Project Heron was enlarged by Ravi.\n\n", 90), "--id", "m3")
	do("emit", "--text", "The canary word is zyzzyva, said Ravi.", "--id", "m4")
	for i := range 30 {
		do("emit", "--text", fmt.Sprintf("Note %d about the garden and Paris.", i), "--wait", "logged")
	}
	contains(t, "ask", do("ask", "who moved the release?"), "Thursday")
	contains(t, "ask", do("ask", "which word did Ravi say?"), "zyzzyva")
	contains(t, "forget", do("forget", "m4", "--reason", "asked"), "vector", "graph")
	if out := do("ask", "which word did Ravi say?"); strings.Contains(out, "zyzzyva") {
		t.Errorf("what was forgotten is shown:\n%s", out)
	}
	contains(t, "doctor", do("doctor"), "Neo4j at bolt://127.0.0.1:", "Qdrant at http://127.0.0.1:", ", collection test-")
	shown := do("config")
	contains(t, "config", shown, "--neo4j-password", "***")
	if password := servers[5]; strings.Contains(shown, password) {
		t.Error("config shows the password")
	}
	live := mustJSON[app.RebuildProgress](t, n, append([]string{"rebuild"}, servers...)...)
	n.down(t)
	served := satchel(t, "", append([]string{"rebuild", "--dir", n.dir}, servers...)...)
	embedded := satchel(t, "", "rebuild", "--dir", n.dir, "--neo4j-url=", "--qdrant-url=") // whatever the environment says
	if live.Digest == "" || !strings.Contains(served.out, live.Digest) || !strings.Contains(embedded.out, live.Digest) {
		t.Errorf("digest %q live; on servers again\n%s%s\nin the folder\n%s%s", live.Digest, served.out, served.err, embedded.out, embedded.err)
	}
}

// TestServersThatRefuse: what is wrong with a server is one sentence and exit code 2.
func TestServersThatRefuse(t *testing.T) {
	t.Parallel()
	testenv.TooLongRaced(t)
	stand := qdranttest.StartStandIn(t)
	stand.Set(qdranttest.Faults{Before: func(_, key string) error {
		if key != "the right one" {
			return grpcstatus.Error(codes.Unauthenticated, "Must provide an API key")
		}
		return nil
	}})
	g := neo4jtest.Open(t)
	for says, args := range map[string][]string{
		`refuses the password of user "neo4j"`: {"--neo4j-url", g.URL, "--neo4j-password", "hunter2secret"},
		"must be like bolt://host:7687":        {"--neo4j-url", "localhost"},
		"refuses the API key, or wants one":    {"--qdrant-url", stand.URL, "--qdrant-api-key", "hunter2secret"},
		"must be like http://host:6334":        {"--qdrant-url", "localhost:6334"},
	} {
		r := satchel(t, "", append([]string{"up", "--dir", t.TempDir(), "--nats-port=0", "--http-addr", ""}, args...)...)
		if r.code != exitUsage || !strings.Contains(r.err, says) || strings.Count(strings.TrimSpace(r.err), "\n") > 0 || strings.Contains(r.err, "hunter2secret") {
			t.Errorf("%v: exit code %d\n%s", args, r.code, r.err)
		}
	}
}
