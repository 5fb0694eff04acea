package pipeline

import (
	"context"
	"slices"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// longestPath is how many links a causal path may have.
const longestPath = 4

// graph adds the edges among the shown items, and the shortest causal paths between
// them over what was found and policy allows but is not shown. Links that are not for
// the asker are left out.
func (t *turn) graph(ctx context.Context, s scope.Scope) error {
	if !t.e.cfg.Graphs && !t.req.IncludeGraph || len(t.packed.Shown) == 0 {
		return nil
	}
	if t.e.cfg.Graph == nil {
		t.warnings = append(t.warnings, "graph: there is none, the causal graph is left out")
		return nil
	}
	var known []string
	hidden := map[string]bool{}
	for i := range t.ranking.Candidates {
		if c := &t.ranking.Candidates[i]; c.Verdict.Allow && c.Drop != schemas.DropPolicy {
			known = append(known, c.Record.ID)
			hidden[c.Record.ID] = hidesLinks(c)
		}
	}
	edges, err := t.e.cfg.Graph.Between(ctx, s, known, schemas.MatchAll())
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.warnings = append(t.warnings, "graph: the causal graph is left out")
		return nil
	}
	edges = slices.DeleteFunc(edges, func(e schemas.Edge) bool { return hidden[e.From] })
	t.causal = causalGraph(t.ids(), edges)
	return nil
}

// causalGraph is the graph of the shown items out of the edges among all that are known.
func causalGraph(shown []string, edges []schemas.Edge) *schemas.CausalGraph {
	g := &schemas.CausalGraph{Nodes: slices.Clone(shown), Edges: []schemas.Edge{}}
	is := make(map[string]bool, len(shown))
	for _, id := range shown {
		is[id] = true
	}
	next := map[string][]string{}
	for _, e := range edges {
		switch e.Rel {
		case schemas.RelCausedBy, schemas.RelDerivedFrom, schemas.RelFollows:
			next[e.From] = append(next[e.From], e.To)
		}
	}
	for _, from := range shown {
		for _, path := range pathsFrom(from, next, is) {
			g.Paths = append(g.Paths, path)
			for _, id := range path[1 : len(path)-1] {
				if !slices.Contains(g.Nodes, id) {
					g.Nodes = append(g.Nodes, id)
				}
			}
		}
	}
	in := make(map[string]bool, len(g.Nodes))
	for _, id := range g.Nodes {
		in[id] = true
	}
	for _, e := range edges {
		if in[e.From] && in[e.To] {
			g.Edges = append(g.Edges, e)
		}
	}
	return g
}

// pathsFrom are the shortest paths from a shown item, along its causes, to the shown
// items it reaches through others alone: one link more is an edge, no path.
func pathsFrom(from string, next map[string][]string, shown map[string]bool) [][]string {
	before := map[string]string{from: ""}
	queue, depth := []string{from}, map[string]int{}
	var out [][]string
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, to := range next[at] {
			if _, seen := before[to]; seen || depth[at] >= longestPath {
				continue
			}
			before[to], depth[to] = at, depth[at]+1
			if !shown[to] {
				queue = append(queue, to)
				continue
			}
			if depth[to] > 1 {
				out = append(out, trail(before, to))
			}
		}
	}
	return out
}

func trail(before map[string]string, to string) []string {
	var path []string
	for at := to; at != ""; at = before[at] {
		path = append(path, at)
	}
	slices.Reverse(path)
	return path
}
