package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/cmd/internal/cli"
	"satchel/cmd/internal/lab/eval"
	"satchel/test/testenv"
	"satchel/test/testenv/neo4jtest"
	"satchel/test/testenv/postgrestest"
	"satchel/test/testenv/qdranttest"
)

// everyServer returns settings that put log, items, graph and vectors on servers.
func everyServer(t *testing.T) []string {
	t.Helper()
	g, v := neo4jtest.Open(t), qdranttest.Open(t)
	return []string{"--neo4j-url", g.URL, "--neo4j-user", g.User, "--neo4j-password", g.Password, "--neo4j-namespace", g.Namespace,
		"--qdrant-url", v.URL, "--qdrant-api-key", v.APIKey, "--qdrant-collection", v.Collection, "--database-url", postgrestest.Open(t)}
}

// TestServersEval holds the servers to the embedded engines on a set of its own: the same
// digests, the same ranking, the same vectors.
func TestServersEval(t *testing.T) {
	t.Parallel()
	testenv.TooLongRaced(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "kiln"), 0o700); err != nil {
		t.Fatal(err)
	}
	var memories, queries strings.Builder
	for i, what := range []string{"the kiln is fired on Mondays", "Maya glazes the blue bowls", "the lake house has a red door", "Ravi ordered ten bags of clay",
		"the wheel squeaks when it is cold", "bowls are sold at the spring fair"} {
		for _, tenant := range []string{"one", "two"} {
			fmt.Fprintf(&memories, `{"id":"m%d","tenant":%q,"text":%q,"session":"s1","speaker":"Maya","ts":"2026-03-0%dT10:00:00Z"}`+"\n", i, tenant, what+" in "+tenant, i+1)
		}
	}
	for i, text := range []string{"when is the kiln fired?", "who glazes bowls?", "which door is red?"} {
		fmt.Fprintf(&queries, `{"id":"q%d","tenant":"one","text":%q,"category":"single","relevant":["m%d"]}`+"\n", i, text, i)
	}
	for name, text := range map[string]string{"memories.jsonl": memories.String(), "queries.jsonl": queries.String()} {
		if err := os.WriteFile(filepath.Join(dir, "kiln", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := lab(t, append([]string{"eval", "--data", dir, "--set", "kiln", "--beside", "--json"}, everyServer(t)...)...)
	var rows []eval.ServerComparison
	if err := json.Unmarshal([]byte(r.out), &rows); err != nil || r.code != 0 || len(rows) != 1 {
		t.Fatalf("exit code %d, %v\n%s%s", r.code, err, r.out, r.err)
	}
	got := rows[0]
	if !got.Same || got.Vectors != 12 || got.Cosine < .999 || got.Embedded.NDCG10 < .9 || got.Loss != 0 {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{"eval", "--data", dir, "--set", "kiln", "--beside"}, {"bench", "--beside"}} {
		if r := lab(t, append(args, "--database-url=", "--neo4j-url=", "--qdrant-url=")...); r.code != cli.ExitUsage || !strings.Contains(r.err, "needs DATABASE_URL") {
			t.Errorf("%v without servers: exit code %d %s", args, r.code, r.err)
		}
	}
}

// TestServersBeside runs satchel-lab eval --beside or satchel-lab bench --beside on servers that it
// starts, with the arguments of SATCHEL_BESIDE, and prints what they print.
func TestServersBeside(t *testing.T) {
	args := strings.Fields(os.Getenv("SATCHEL_BESIDE"))
	if len(args) == 0 {
		t.Skip("SATCHEL_BESIDE is not set")
	}
	fmt.Println("vectors:", qdranttest.Open(t).Server())
	if code := run(context.Background(), append(args, everyServer(t)...), strings.NewReader(""), os.Stdout, os.Stderr); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
