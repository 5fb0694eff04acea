package op

import (
	"context"
	"slices"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// longestPath is how many links a causal path may have.
const longestPath = 4

// causal returns the edges among the shown items, and the shortest causal paths between them
// over items that were found and policy allows. Links that are not for the principal are left
// out. Without a graph to read, a note says so.
func (e *Operations) causal(
	ctx context.Context, req pipeline.Request, ranked pipeline.Ranked, packed pipeline.Packed,
) (*schemas.CausalGraph, pipeline.Notes, error) {
	if !e.text.Graphs && !req.Options.IncludeGraph || len(packed.Shown) == 0 {
		return nil, packed.Notes, nil
	}
	if e.Find.Graph == nil {
		return nil, packed.Notes.With("graph: there is none, the causal graph is left out"), nil
	}
	var known []string
	hidden := map[string]bool{}
	for i := range ranked.Candidates {
		c := &ranked.Candidates[i]
		known = append(known, c.ID)
		hidden[c.ID] = hidesLinks(c)
	}
	edges, err := e.Find.Graph.Between(ctx, req.Scope, known, schemas.MatchAll())
	if err != nil {
		return nil, packed.Notes.With("graph: the causal graph is left out"), ctx.Err()
	}
	edges = slices.DeleteFunc(edges, func(e schemas.Edge) bool { return hidden[e.From] })
	return causalGraph(pipeline.IDsOf(ranked.Candidates, packed.Shown), edges), packed.Notes, nil
}

// hidesLinks reports whether the links of an item are not for the principal.
func hidesLinks(c *candidate.Candidate) bool {
	return c.Verdict.Redact && len(c.Links) == 0
}

// causalGraph is the graph of the shown items, from the edges among all known items.
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

// pathsFrom returns the shortest paths from a shown item, along its causes, to other shown
// items. A path has an item between them that is not shown: a single link is an edge.
func pathsFrom(from string, next map[string][]string, shown map[string]bool) [][]string {
	before := map[string]string{from: ""}
	queue := []string{from}
	depth := map[string]int{}
	var out [][]string
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, to := range next[at] {
			if _, seen := before[to]; seen || depth[at] >= longestPath {
				continue
			}
			before[to] = at
			depth[to] = depth[at] + 1
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
