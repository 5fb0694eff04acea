package main

import (
	"strings"
	"testing"

	"satchel/schemas"
)

func TestDropsAreNamedOnceAndAsDroppedTakesThem(t *testing.T) {
	t.Parallel()
	report := schemas.DropReport{Drops: []schemas.Drop{
		{ItemID: "n1", Reason: schemas.DropBudget, Span: &schemas.Span{Start: 3, End: 9}}, {ItemID: "n1", Reason: schemas.DropBudget, Span: &schemas.Span{Start: 12, End: 40}},
		{ItemID: "n2", Reason: schemas.DropBudget}, {ItemID: "n2", Reason: schemas.DropBudget},
	}}
	var out strings.Builder
	printDrops(&out, &report, false)
	if !strings.HasSuffix(out.String(), ": n1:3-9, n1:12-40, n2\n") {
		t.Error(out.String())
	}
}

// A tenant that is misspelt answers, but not in silence; packs that cannot be opened or
// brought back say what to do.
func TestMistakesOnANode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--text", "the kiln is fired on Mondays", "--id", "n1", "--wait", "indexed")
	for range 2 { // the first one leaves its pack in the log
		contains(t, "ask a typo", n.run(t, "ask", "-t", "mian", "kiln").err, `tenant "mian" is empty: nothing was ever recorded there`)
	}
	contains(t, "the ledger of a typo", n.run(t, "ledger", "-t", "nosuch").err, `tenant "nosuch" has no such entries: nothing was ever recorded there`)
	contains(t, "the ledger of a kind", n.run(t, "ledger", "--kind", "erasure").err, "has no such entries\n")
	for _, args := range [][]string{{"ask", "kiln"}, {"ask", "--level", "public", "kiln"}, {"ask", "zeppelin"}, {"ledger"}} {
		if r := n.run(t, args...); r.code != 0 || strings.Contains(r.err, "nothing was ever recorded") {
			t.Errorf("satchel %v: exit code %d\n%s", args, r.code, r.err)
		}
	}
	pack := mustJSON[schemas.ContextResult](t, n, "ask", "kiln").Payload.PackID
	if r := n.run(t, "explain", pack, "n1", "--as", "stranger"); r.code != exitFailed || !strings.Contains(r.err, "--as") {
		t.Errorf("explain for a stranger: exit code %d\n%s", r.code, r.err)
	}
	for _, args := range [][]string{{"dropped", pack, "nosuch"}, {"dropped", pack, "nosuch", "--json"}, {"forget", "nosuch"}} {
		if r := n.run(t, args...); r.code != exitUsage || !strings.Contains(r.out+r.err, "nosuch") {
			t.Errorf("satchel %v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
}
