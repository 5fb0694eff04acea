package op_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/schemas"
)

// The causal graph has the edges among what is shown and the shortest paths through
// what was found but not shown, and nothing of what policy hides.
func TestCausalGraph(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	link := func(m schemas.MemoryItem, rel schemas.Rel, to ...string) schemas.MemoryItem {
		for _, id := range to {
			m.Links = append(m.Links, schemas.Link{Rel: rel, To: id})
		}
		return m
	}
	w.put(t, "acme",
		link(memory("outage", "level:public", "Ana", "The lantern went dark, and nobody saw the lantern at the gate."), schemas.RelCausedBy, "restart", "secret"),
		link(memory("restart", "level:public", "Bo", "Quite unrelated words about the proxies in the cellar of the office, which somebody has to look after on each of the days when all others are away."), schemas.RelCausedBy, "expiry"),
		memory("expiry", "level:public", "Ana", "The lantern certificate of the lantern expired."),
		link(memory("secret", "level:restricted", "Eve", "The lantern was cut by hand."), schemas.RelCausedBy, "expiry"),
		link(memory("note", "level:public", "Ana", "The lantern is green, and the lantern hangs at the gate."), schemas.RelMentions, "outage"),
	)
	req := ask("lantern")
	req.Payload.Limit, req.Payload.IncludeGraph = 3, true
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), req)
	must(t, err)
	g := res.Payload.Explainability.CausalGraph
	if g == nil {
		t.Fatal("no graph")
	}
	if d := cmp.Diff([][]string{{"outage", "restart", "expiry"}}, g.Paths); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]schemas.Edge{
		{From: "note", Rel: schemas.RelMentions, To: "outage"},
		{From: "outage", Rel: schemas.RelCausedBy, To: "restart"},
		{From: "restart", Rel: schemas.RelCausedBy, To: "expiry"},
	}, g.Edges); d != "" {
		t.Error(d)
	}
	if len(g.Nodes) != 4 || g.Nodes[3] != "restart" {
		t.Errorf("nodes are %v", g.Nodes)
	}
	req.Payload.IncludeGraph = false
	res, err = w.engine.Context(context.Background(), as(t, "acme", schemas.Public), req)
	must(t, err)
	if res.Payload.Explainability.CausalGraph != nil {
		t.Error("a graph nobody asked for")
	}
}
