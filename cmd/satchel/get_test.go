package main

import (
	"fmt"
	"strings"
	"testing"

	"satchel/emitters"
	"satchel/schemas"
)

// TestGet reads single items among thousands that say nearly the same.
func TestGet(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	var lines strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&lines, `{"id":"n%d","content":"Kiln %d is fired on Mondays with the wood of lot %d.","speaker":"Ida"}`+"\n", i, i, i%17)
	}
	dir := folder(t, map[string]string{"m.jsonl": lines.String()})
	n.must(t, "import", dir+"/m.jsonl")
	n.must(t, "emit", "--id", "secret", "--text", "The wood of lot 3 is stolen.", "--label", "level:restricted")
	n.must(t, "emit", "--id", "long", "--text", strings.Repeat("A long story about wood. ", 4000)+"The end.")
	agent, err := emitters.New(n.operator(t), emitters.Config{Tenant: "main", Agent: "import"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Supersede(t.Context(), "n7", "n9", "it was moved", &emitters.Options{Wait: schemas.ReceiptIndexed}); err != nil {
		t.Fatal(err)
	}
	n.must(t, "forget", "n8", "--reason", "test")
	n.must(t, "emit", "--id", "late", "--text", "The late kiln.", "--created-at", "2026-03-02T23:30:00Z", "--session", "late", "--wait", "indexed")
	contains(t, "get in Tokyo", n.must(t, "get", "late", "--tz", "Asia/Tokyo"), "created   2026-03-03T08:30:00+09:00\n")
	contains(t, "list in Tokyo", n.must(t, "list", "--session", "late", "--tz", "Asia/Tokyo"), "late  memory, 2026-03-03 08:30:00, late")
	for _, id := range []string{"n0", "n1234", "n2999"} {
		item := mustJSON[schemas.ResultItem](t, n, "get", id)
		if item.ID != id || !strings.HasPrefix(item.Content.Text(), "Kiln "+id[1:]+" is fired") {
			t.Errorf("get %s: %+v", id, item)
		}
	}
	contains(t, "get", n.must(t, "get", "n1234"), "item      n1234\n", "kind      memory, episodic\n", "speaker   Ida\n", "\n\nKiln 1234 is fired on Mondays with the wood of lot 10.\n")
	if item := mustJSON[schemas.ResultItem](t, n, "get", "long"); !strings.HasSuffix(item.Content.Text(), "The end.") {
		t.Errorf("a long item is cut: %d bytes", len(item.Content.Text()))
	}
	if out := n.must(t, "get", "secret", "--level", "restricted"); !strings.Contains(out, "stolen") {
		t.Errorf("who may see it gets\n%s", out)
	}
	for id, want := range map[string]string{"secret": `there is no item "secret" that cli may see`, "nope": `there is no item "nope" that cli may see`,
		"n8": `there is no item "n8" that cli may see`, "n7": `item "n7" is left out: a newer item replaces it`} {
		if r := n.run(t, "get", id); r.code != exitUsage || r.out != "" || !strings.Contains(r.err, want) {
			t.Errorf("get %s: exit code %d\n%s%s", id, r.code, r.out, r.err)
		}
	}
}

// TestForgetOfAnUnknownErasure: nobody is told that an erasure is under way which was never asked for.
func TestForgetOfAnUnknownErasure(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--id", "n1", "--text", "Kiln 1 is fired on Mondays.")
	n.must(t, "forget", "n1")
	for _, args := range [][]string{{"forget", "--erasure", "never"}, {"forget", "--erasure", "never", "--json"}} {
		if r := n.run(t, args...); r.code != exitUsage || strings.Contains(r.out+r.err, "under way") || !strings.Contains(r.err, "not_found: there is no such erasure") {
			t.Errorf("%v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
}
