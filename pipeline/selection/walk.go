package selection

import (
	"context"
	"slices"
	"sync"

	"satchel/pipeline/scope"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// listFollowedLinks are the links that a query follows when it names none: from an item to its causes,
// its sources, what it replaced and the whole it is a part of.
func listFollowedLinks() []schemas.Rel {
	return []schemas.Rel{schemas.RelCausedBy, schemas.RelDerivedFrom, schemas.RelSupersedes, schemas.RelPartOf}
}

// walkLinks adds what is near the best finds and the entities of the query, over any link. Besides, it
// notes which items the followed links reach: these get a part of the recall.
func (s *Selector) walkLinks(ctx context.Context, sc scope.Scope, p *Pool) {
	near := p.search
	near.Limit = graphLimit
	seeds := p.collectSeeds()
	for _, i := range seeds {
		near.Seeds = append(near.Seeds, p.columns.IDs()[i])
	}
	ctx, cancel := retrieve.Within(ctx, s.cfg.Deadline)
	defer cancel()
	g := near.Graph
	links := near
	named := g != nil && len(g.Rels)+len(g.From) > 0 // the client's links are those to follow
	links.Graph = &schemas.GraphQuery{Rels: listFollowedLinks()}
	links.Entities = nil
	if g != nil {
		links.Graph.Hops = g.Hops
		links.Graph.Kinds = g.Kinds
		links.Graph.Labels = g.Labels
	}
	var found, linked retrieve.Result
	var err error
	var wait sync.WaitGroup
	if !named && len(links.Seeds) > 0 {
		wait.Go(func() { linked, _ = s.graph.Retrieve(ctx, sc, &links) }) // the other walk says what fails
	}
	found, err = s.graph.Retrieve(ctx, sc, &near)
	wait.Wait()
	if err != nil {
		p.out.Warnings = append(p.out.Warnings, retrieve.NameGraph+": "+retrieve.Failure(err))
		return
	}
	p.out.Sources = append(p.out.Sources, retrieve.NameGraph)
	p.out.Counts[retrieve.NameGraph] = len(found.Hits)
	rels := links.Graph.Rels
	if named {
		linked = found
		rels = g.Rels
	}
	p.columns.Take(retrieve.NameGraph, 0, found)
	p.columns.TakeLinks(linked, rels, !named)
	for _, i := range seeds {
		p.columns.SetSeed(i)
	}
	p.asked = named || p.query.Type == schemas.QueryGraph
}

// collectSeeds are the places where a walk begins: the best finds, and the items that the client names.
func (p *Pool) collectSeeds() []int32 {
	seeds := slices.Clone(p.columns.First(p.question, graphSeeds))
	if g := p.query.Graph; g != nil {
		for _, id := range g.From {
			if !slices.Contains(p.query.Exclude, id) {
				i := p.columns.Add(id)
				p.columns.SetFrom(i)
				if !slices.Contains(seeds, i) {
					seeds = append(seeds, i)
				}
			}
		}
	}
	return seeds
}
