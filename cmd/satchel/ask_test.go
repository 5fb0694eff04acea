package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"satchel/cmd/internal/command"
	"satchel/emitters"
	"satchel/schemas"
)

func TestDropsAreNamedOnceAndAsDroppedTakesThem(t *testing.T) {
	t.Parallel()
	p := schemas.ResultPayload{}
	p.Drop.Drops = []schemas.Drop{
		{ItemID: "n1", Reason: schemas.DropBudget, Span: &schemas.Span{Start: 3, End: 9}}, {ItemID: "n1", Reason: schemas.DropBudget, Span: &schemas.Span{Start: 12, End: 40}},
		{ItemID: "n2", Reason: schemas.DropBudget}, {ItemID: "n2", Reason: schemas.DropBudget},
	}
	drops := func() string {
		var out strings.Builder
		command.PrintDrops(&out, &p, false)
		return out.String()
	}
	if !strings.HasSuffix(drops(), ": n1:3-9, n1:12-40, n2\n") {
		t.Error(drops())
	}
	p.Results = []schemas.ResultItem{{ID: "n1", Content: schemas.TextContent("the kiln is fired")}, {ID: "n3", Content: schemas.TextContent("not dropped")}}
	if !strings.HasSuffix(drops(), ": n1:3-9 (the kiln is fired), n1:12-40 (the kiln is fired), n2\n") {
		t.Errorf("with what is shown of n1: %s", drops())
	}
	p.Pack.Sections = []schemas.ContextSection{{Items: []schemas.ContextItem{{ID: "n1", Where: "kiln.md:7"}}}}
	if !strings.HasSuffix(drops(), ": n1:3-9 (kiln.md:7), n1:12-40 (kiln.md:7), n2\n") {
		t.Errorf("with the place of n1: %s", drops())
	}
	p.Pack.Sections, p.Results[0].Metadata.Flagged = nil, schemas.FlagInjection
	if strings.Contains(drops(), "fired") {
		t.Errorf("the words of a flagged item: %s", drops())
	}
}

// A tenant that is misspelt is named, and gets no log by being asked; packs that cannot be
// opened or brought back say what to do.
func TestMistakesOnANode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.must(t, "emit", "--text", "the kiln is fired on Mondays", "--id", "n1", "--wait", "indexed")
	for _, args := range [][]string{{"ask", "kiln"}, {"search", "kiln"}, {"preview", "kiln"}, {"preview", "--build", "kiln"}, {"assemble", "kiln"}, {"premortem", "--domain", "kiln"}, {"answer", "when is the kiln fired?"}, {"compact", "--session", "s1"}} {
		r := n.run(t, append(args, "-t", "mian")...)
		contains(t, fmt.Sprint(args, " of a typo"), r.err, `tenant "mian" is empty: nothing was ever recorded there`)
		if strings.Count(r.out+r.err, "nothing was found") > 1 || r.code != exitUsage {
			t.Errorf("satchel %v: exit code %d:\n%s%s", args, r.code, r.out, r.err)
		}
	}
	if heads := mustJSON[[]command.Verified](t, n, "verify"); len(heads) != 1 || heads[0].Tenant != "main" {
		t.Errorf("there are logs of %+v", heads)
	}
	for range 2 { // an agent that asks before it knows anything is answered, and a log has that
		agent, err := emitters.New(n.connect(t), emitters.Config{Tenant: "early", Agent: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := agent.Ask(t.Context(), schemas.ContextRequest{Payload: schemas.RequestPayload{Query: schemas.Query{Text: "kiln"}}}); err != nil || res.Payload.PackID == "" {
			t.Errorf("ask before anything is recorded: %v", err)
		}
		contains(t, "ask where only questions are", n.run(t, "ask", "-t", "early", "kiln").err, `tenant "early" is empty: nothing was ever recorded there`)
	}
	contains(t, "the ledger of a typo", n.run(t, "ledger", "-t", "nosuch").err, `tenant "nosuch" has no such entries: nothing was ever recorded there`)
	contains(t, "the ledger of a kind", n.run(t, "ledger", "--kind", "erasure").err, "has no such entries\n")
	for _, args := range [][]string{{"ask", "kiln"}, {"ask", "--level", "public", "kiln"}, {"ask", "zeppelin"}, {"ledger"}, {"search", "--session", "nosuch", "kiln"}, {"preview", "--session", "nosuch", "kiln"}, {"preview", "--budget", "1", "kiln"}} {
		if r := n.run(t, args...); r.code != 0 || strings.Contains(r.err, "nothing was ever recorded") {
			t.Errorf("satchel %v: exit code %d\n%s", args, r.code, r.err)
		}
	}
	put := `{"agent":"a","event":{"specversion":"1.0","id":"big","source":"a","type":"io.satchel.memory.recorded.v1","datacontenttype":"application/json","data":` +
		`{"id":"big","type":"episodic","kind":"memory","scope":{"tenant":"main"},"created_at":"2026-03-03T10:00:00Z","security_label":["level:internal"],"content":{"a":"` + strings.Repeat("x", 800<<10) + `"}}}}`
	if m, err := n.connect(t).Request("mem.v1.main.put", []byte(put), time.Minute); err != nil {
		t.Error(err)
	} else {
		contains(t, "a put of 800 KiB", string(m.Data), "too_large", "at most 786432")
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

// What explain prints is in the order of the scores, whatever the order of the text.
func TestExplainedBestFirst(t *testing.T) {
	t.Parallel()
	item := func(id string, score float64) schemas.ContextItem { return schemas.ContextItem{ID: id, Score: score} }
	p := schemas.ResultPayload{}
	p.Pack.Sections = []schemas.ContextSection{{Items: []schemas.ContextItem{item("early", .1), item("best", .9)}}, {Items: []schemas.ContextItem{item("middle", .5)}}}
	p.Drop.Drops = []schemas.Drop{{ItemID: "poor", Score: .1, Explanation: "x", Reason: schemas.DropBudget}, {ItemID: "near", Score: .4, Explanation: "x", Reason: schemas.DropBudget}}
	var out strings.Builder
	command.PrintScores(&out, &p)
	command.PrintDrops(&out, &p, true)
	at := 0
	for _, want := range []string{"best first", "  [2] best", "  [3] middle", "  [1] early", "  - near", "  - poor"} {
		next := strings.Index(out.String()[at:], want)
		if next < 0 {
			t.Fatalf("%q is not where it should be:\n%s", want, out.String())
		}
		at += next
	}
}
