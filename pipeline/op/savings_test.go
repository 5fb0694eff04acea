package op_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"satchel/pipeline/op"
	"satchel/pipeline/relevance"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/graph"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/test/parts"
)

// tally counts what the stores are asked, and what every filter would have let through.
type tally struct {
	queries, read atomic.Int32
	hidden        *schemas.Facets // nil, or an item that no query may ask for
	asked         atomic.Bool
}

func (c *tally) ask(f schemas.Filter) {
	c.queries.Add(1)
	if c.hidden != nil && f.Match(c.hidden) {
		c.asked.Store(true)
	}
}

type countedKeyword struct {
	keyword.Index
	c *tally
}

func (k countedKeyword) Search(ctx context.Context, s scope.Scope, q keyword.Query) (keyword.Result, error) {
	k.c.ask(q.Filter)
	return k.Index.Search(ctx, s, q)
}

type countedVector struct {
	vector.Index
	c *tally
}

func (v countedVector) Search(ctx context.Context, s scope.Scope, q vector.Query) (vector.Result, error) {
	v.c.ask(q.Filter)
	return v.Index.Search(ctx, s, q)
}

type countedGraph struct {
	graph.Store
	c *tally
}

func (g countedGraph) Walk(ctx context.Context, s scope.Scope, w graph.Walk) ([]graph.Visit, error) {
	g.c.ask(w.Filter)
	return g.Store.Walk(ctx, s, w)
}

type countedItems struct {
	items.Store
	c *tally
}

func (i countedItems) Get(ctx context.Context, s scope.Scope, ids []string) ([]schemas.Record, error) {
	i.c.queries.Add(1)
	i.c.read.Add(int32(len(ids)))
	return i.Store.Get(ctx, s, ids)
}

func (i countedItems) Recent(ctx context.Context, s scope.Scope, f schemas.Filter, behind items.Place, n int) ([]string, error) {
	i.c.ask(f)
	return i.Store.Recent(ctx, s, f, behind, n)
}

// nodeItems are a dozen items of every node.
func nodeItems(t *testing.T) []schemas.MemoryItem {
	t.Helper()
	cfg, err := relevance.DefaultConfig()
	must(t, err)
	var out []schemas.MemoryItem
	for name, node := range cfg.Nodes {
		for k, sel := range node.Items {
			for i := range 12 {
				m := schemas.MemoryItem{ID: fmt.Sprintf("%s-%d-%d", name, k, i), Kind: sel.Kind, Type: sel.Type, Category: sel.Category, CreatedAt: day,
					SecurityLabel: []string{"level:public"}, Scope: schemas.MemoryScope{Tenant: "acme"},
					Content: schemas.TextContent(fmt.Sprintf("Hey, this is number %d of what there is on %s.", i, strings.ReplaceAll(name, "_", " ")))}
				if m.Type == "" {
					m.Type = schemas.Episodic
				}
				out = append(out, m)
			}
		}
	}
	return out
}

// turns are the rows of the table of savings.
func savingTurns() []struct {
	name string
	req  *schemas.RelevanceRequest
} {
	r := func(mode string, signals map[string]any) *schemas.RelevanceRequest {
		return &schemas.RelevanceRequest{Mode: mode, Signals: signals}
	}
	return []struct {
		name string
		req  *schemas.RelevanceRequest
	}{
		{"everything", nil},
		{"ACKNOWLEDGE", r("ACKNOWLEDGE", map[string]any{"greeting_pattern": true})},
		{"CLARIFY, warm", r("CLARIFY", map[string]any{"context_warmth": .8, "working_memory_turns": 3.0})},
		{"RESPOND to a greeting", r("RESPOND", map[string]any{"greeting_pattern": true, "prompt_token_count": 2.0})},
		{"RESPOND", r("RESPOND", nil)},
		{"ACT", r("ACT", nil)},
	}
}

// TestSavings counts what each mode spares, holds the table of docs/reference/relevance.md to it,
// and holds that no query asks for what is excluded.
func TestSavings(t *testing.T) {
	t.Parallel()
	cfg, err := relevance.DefaultConfig()
	must(t, err)
	gate, err := relevance.New(cfg)
	must(t, err)
	c := &tally{}
	w := openWorld(t, func(p *op.Config) {
		p.Relevance, p.Keyword, p.Vector = gate, countedKeyword{p.Keyword, c}, countedVector{p.Vector, c}
		p.Graph, p.Items = countedGraph{p.Graph, c}, countedItems{p.Items, c}
	})
	w.put(t, "acme", nodeItems(t)...)
	s := as(t, "acme", schemas.Public)
	all := gate.All()
	var table strings.Builder
	run := func(req *schemas.RelevanceRequest) (queries, read int32, trace *schemas.RelevanceTrace) {
		t.Helper()
		c.queries.Store(0)
		c.read.Store(0)
		one := ask("Hey, what is there?")
		one.Payload.Now, one.Payload.Relevance, one.Payload.Limit, one.Payload.TokenBudget = day, req, 100, 6000
		res, err := w.engine.Context(context.Background(), s, one)
		must(t, err)
		for _, id := range ids(&res) {
			node, _, _ := strings.Cut(id, "-")
			if d := decide(gate, req); !d.Includes(node) && !shares(cfg, d, node) {
				t.Errorf("%s: %s is shown, its node is excluded", req.Mode, id)
			}
		}
		return c.queries.Load(), c.read.Load(), res.Payload.Pack.Relevance
	}
	run(nil) // what is learned of words once is not asked again
	for _, turn := range savingTurns() {
		queries, read, trace := run(turn.req)
		out, spared := 0, 0
		if trace != nil {
			out, spared = len(gate.Nodes())-trace.TotalIncluded, all.Trace.EstTokens-trace.EstTokens
		}
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %d |\n", turn.name, out, queries, read, spared)
	}
	head := "| turn | nodes left out | queries | items read | tokens spared |\n|---|---|---|---|---|\n"
	parts.Table(t, "../../docs/reference/relevance.md", "savings", head+table.String())
	// Each kind that is excluded as a whole is asked for by no query.
	for mode, hidden := range map[string]schemas.Facets{
		"RESPOND": {Kind: schemas.KindTool, Type: schemas.Episodic}, "ACKNOWLEDGE": {Kind: schemas.KindMemory, Type: schemas.Episodic},
		"CLARIFY": {Kind: schemas.KindCommit, Type: schemas.Episodic},
	} {
		c.hidden = &hidden
		c.asked.Store(false)
		if run(&schemas.RelevanceRequest{Mode: mode}); c.asked.Load() {
			t.Errorf("%s: a query asks for %s", mode, hidden.Kind)
		}
		c.hidden = nil
	}
}

func decide(g *relevance.Gate, req *schemas.RelevanceRequest) *relevance.Decision {
	d := relevance.Decision{}
	if req != nil {
		d = g.Decide(relevance.From(req))
	}
	return &d
}

// shares reports whether an included node selects what the node selects.
func shares(cfg relevance.Config, d *relevance.Decision, node string) bool {
	for _, sel := range cfg.Nodes[node].Items {
		if d.Wants(&schemas.Facets{Kind: sel.Kind, Type: sel.Type, Category: sel.Category}) {
			return true
		}
	}
	return false
}

// A turn that needs no item asks no store.
func TestNothingIsAskedForNothing(t *testing.T) {
	t.Parallel()
	cfg, err := relevance.DefaultConfig()
	must(t, err)
	cfg.TemplateMasks["NOTHING"] = map[string]bool{}
	for name := range cfg.Nodes {
		cfg.TemplateMasks["NOTHING"][name] = false
	}
	cfg.SafetyOverrides, cfg.UrgencyOverrides = nil, nil
	gate, err := relevance.New(cfg)
	must(t, err)
	c := &tally{}
	w := openWorld(t, func(p *op.Config) {
		p.Relevance, p.Keyword, p.Vector = gate, countedKeyword{p.Keyword, c}, countedVector{p.Vector, c}
		p.Graph, p.Items = countedGraph{p.Graph, c}, countedItems{p.Items, c}
	})
	w.put(t, "acme", nodeItems(t)...)
	req := ask("Hey, what is there?")
	req.Payload.Relevance = &schemas.RelevanceRequest{Mode: "NOTHING"}
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), req)
	must(t, err)
	if n := c.queries.Load(); n != 0 || len(res.Payload.Results) != 0 {
		t.Errorf("%d queries, %d results", n, len(res.Payload.Results))
	}
	if w := res.Payload.Explainability.Warnings; !slices.Contains(w, "relevance left out every source: ask in another mode, or without relevance") {
		t.Errorf("warnings %q", w)
	}
}
