package pipeline

import (
	"context"
	"fmt"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// follow walks the links of the best results and makes candidates of the items that they reach
// and that the principal may see.
func (o *searchOp) follow(ctx context.Context, req Request, plan Plan, auth Authorized, found Ranked) (Ranked, error) {
	e, filter := o.e, plan.Pushdown.Filter
	if e.cfg.Graph == nil {
		found.Notes = found.Notes.With("graph: there is none, relationships are left out")
		return found, nil
	}
	hops := min(max(o.in.RelationshipDepth, 1), maxHops)
	if o.in.RelationshipDepth > maxHops {
		found.Notes = found.Notes.With(fmt.Sprintf("graph: relationships are followed %d hops, no further", maxHops))
	}
	found.Links, found.LinkedOnly = map[string][]graph.Visit{}, map[string]bool{}
	known := map[string]bool{}
	for i := range found.Candidates {
		known[found.Candidates[i].ID] = true
	}
	reached := map[string]candidate.Candidate{}
	var ids []string
	for i := range found.Candidates[:min(2*req.Limits.Items, len(found.Candidates))] {
		from := &found.Candidates[i]
		walk := graph.Walk{From: []string{from.ID}, Hops: hops, Filter: filter, Population: plan.Pushdown.Population.Settled(), Exclude: plan.Exclude}
		visits, err := e.cfg.Graph.Walk(ctx, req.Scope, walk)
		if err != nil {
			found.Notes = found.Notes.With("graph: relationships: " + failure(err))
			break
		}
		visits = betweenItems(from.ID, visits)
		found.Links[from.ID] = visits
		for _, v := range visits {
			if !known[v.ID] {
				known[v.ID], found.LinkedOnly[v.ID] = true, true
				reached[v.ID] = linkedCandidate(from, v)
				ids = append(ids, v.ID)
			}
		}
	}
	records, err := e.cfg.Items.Get(ctx, req.Scope, ids)
	if err != nil {
		return Ranked{}, storageError("items could not be read")
	}
	var refs []*schemas.Record
	for i := range records {
		if filter.Match(&records[i].Facets) {
			refs = append(refs, &records[i])
		}
	}
	seen, err := auth.By.Authorize(ctx, lent(refs))
	if err != nil {
		return Ranked{}, policyDown(ctx, err)
	}
	for i, v := range seen.Visible {
		if v != nil {
			c := candidate.New(v, *seen.Verdicts[i])
			c.Score, c.Standing, c.Channels = reached[v.ID].Score, reached[v.ID].Standing, reached[v.ID].Channels
			found.Candidates = append(found.Candidates, c)
		}
	}
	return found, nil
}

// linkedCandidate is the score and the evidence of an item that a link from a result reaches. It
// scores less the longer the way is.
func linkedCandidate(from *candidate.Candidate, v graph.Visit) candidate.Candidate {
	near := 1 / (1 + float64(v.Distance))
	return candidate.Candidate{
		Standing: from.Standing / (1 + float64(v.Distance)), Score: from.Score / (1 + float64(v.Distance)),
		Channels: candidate.Channels{{Name: retrieve.NameGraph, Channel: schemas.Channel{Rank: v.Distance, Score: near}}},
	}
}

// betweenItems keeps the visits whose way from the start is over links between items.
func betweenItems(start string, visits []graph.Visit) []graph.Visit {
	reached := map[string]bool{start: true}
	kept := visits[:0]
	for _, v := range visits {
		entity := strings.HasPrefix(v.ID, "entity:") && v.ID != "entity:"
		if reached[before(v)] && v.ID != start && v.ID != "" && !entity && len(kept) < maxRelated {
			reached[v.ID] = true
			kept = append(kept, v)
		}
	}
	return kept
}
