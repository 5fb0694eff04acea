package op

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/pack/assembly"
	"satchel/pipeline/selection/rank"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// follow walks the links of the best results and makes candidates of the items that they reach
// and that the principal may see.
func (o *searchOp) follow(ctx context.Context, req pipeline.Request, plan pipeline.Plan, auth pipeline.Authorized, found pipeline.Ranked) (pipeline.Ranked, error) {
	e := o.e
	filter := plan.Pushdown.Filter
	if e.Find.Graph == nil {
		found.Notes = found.Notes.With("graph: there is none, relationships are left out")
		return found, nil
	}
	hops := min(max(o.in.RelationshipDepth, 1), maxHops)
	if o.in.RelationshipDepth > maxHops {
		found.Notes = found.Notes.With(fmt.Sprintf("graph: relationships are followed %d hops, no further", maxHops))
	}
	walk := graph.Walk{Hops: hops, Filter: filter, Population: plan.Pushdown.Population.Settled(), Exclude: slices.Clone(plan.Exclude)}
	for range mostWalks {
		reached, err := o.walk(ctx, req, walk, &found)
		if err != nil {
			found.Notes = found.Notes.With("graph: relationships: " + failure(err))
			break
		}
		linked, err := e.readLinked(ctx, req, filter, auth, slices.Sorted(maps.Keys(reached)))
		if err != nil {
			return pipeline.Ranked{}, err
		}
		for i := range linked {
			c := &linked[i]
			c.Score = reached[c.ID].Score
			c.Standing = reached[c.ID].Standing
			c.Channels = reached[c.ID].Channels
			delete(reached, c.ID)
		}
		if len(reached) == 0 {
			found.Candidates = append(found.Candidates, linked...)
			return found, nil
		}
		walk.Exclude = append(walk.Exclude, slices.Sorted(maps.Keys(reached))...) // a way through what may not be seen is none
	}
	o.links = nil
	o.linkedOnly = nil
	return found, nil
}

// mostWalks is how often links are followed anew without what may not be seen, until nothing of that is reached.
const mostWalks = 32

// walk follows the links of the best results and returns what is not among these, with its score and evidence.
func (o *searchOp) walk(ctx context.Context, req pipeline.Request, walk graph.Walk, found *pipeline.Ranked) (reached map[string]candidate.Candidate, err error) {
	o.links = map[string][]graph.Visit{}
	o.linkedOnly = map[string]bool{}
	known := map[string]bool{}
	for i := range found.Candidates {
		known[found.Candidates[i].ID] = true
	}
	reached = map[string]candidate.Candidate{}
	for i := range found.Candidates[:min(2*req.Limits.Items, len(found.Candidates))] {
		from := &found.Candidates[i]
		walk.From = []string{from.ID}
		visits, err := o.e.Find.Graph.Walk(ctx, req.Scope, walk)
		if err != nil {
			return nil, err
		}
		visits = betweenItems(from.ID, visits)
		o.links[from.ID] = visits
		for _, v := range visits {
			if !known[v.ID] {
				known[v.ID] = true
				o.linkedOnly[v.ID] = true
				reached[v.ID] = linkedCandidate(from, v)
			}
		}
	}
	return reached, nil
}

// readLinked reads items that links reach, and makes candidates of those that pass a filter and that the principal may see.
func (e *Operations) readLinked(ctx context.Context, req pipeline.Request, filter schemas.Filter, auth pipeline.Authorized, ids []string) ([]candidate.Candidate, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	records, err := e.Find.Items.Get(ctx, req.Scope, ids)
	if err != nil {
		return nil, pipeline.StorageError("items could not be read")
	}
	return auth.Decide(ctx, slices.DeleteFunc(records, func(r schemas.Record) bool { return !filter.Match(&r.Facets) }))
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

// addCauses gives what links name as the causes of what was found, and their causes, a part of the standing of the effect. What
// no source found is added to the source of its kind.
func (o *assembleOp) addCauses(ctx context.Context, req pipeline.Request, plan pipeline.Plan, auth pipeline.Authorized, ranked *pipeline.Ranked) error {
	at := make(map[string]int, len(ranked.Candidates))
	for i := range ranked.Candidates {
		at[ranked.Candidates[i].ID] = i
	}
	effects := ranked.Candidates
	for range maxHops {
		lent := map[string]candidate.Candidate{}
		ids := []string{}
		for i := range effects {
			for _, l := range effects[i].Links {
				if l.Rel != schemas.RelCausedBy {
					continue
				}
				c := causeOf(&effects[i])
				if n, known := at[l.To]; known && ranked.Candidates[n].Standing >= c.Standing || lent[l.To].Standing >= c.Standing {
					continue
				} else if !known && lent[l.To].Standing == 0 {
					ids = append(ids, l.To)
				}
				lent[l.To] = c
			}
		}
		read, err := o.e.readLinked(ctx, req, plan.Pushdown.Filter, auth, ids)
		if err != nil {
			return err
		}
		for i := range read {
			at[read[i].ID] = len(ranked.Candidates)
			ranked.Candidates = append(ranked.Candidates, read[i])
		}
		effects = nil
		for _, id := range slices.Sorted(maps.Keys(lent)) {
			n, visible := at[id]
			if !visible {
				continue
			}
			c := &ranked.Candidates[n]
			c.Standing = lent[id].Standing
			c.Score = max(c.Score, lent[id].Score)
			c.Channels = append(c.Channels, lent[id].Channels...)
			for g := range o.sources {
				if slices.Contains(assembly.Kinds(o.sources[g].name), c.Kind) {
					o.groups[g].add(ranked, at, []candidate.Candidate{*c})
				}
			}
			effects = append(effects, *c)
		}
		if len(effects) == 0 {
			break
		}
	}
	return nil
}

// causeOf is the standing, the score and the evidence of a cause of an item.
func causeOf(effect *candidate.Candidate) candidate.Candidate {
	return candidate.Candidate{
		Standing: rank.Lending * effect.Standing, Score: rank.Lending * effect.Score,
		Channels: candidate.Channels{{Name: retrieve.NameGraph, Channel: schemas.Channel{Rank: 1, Score: rank.Lending}}},
	}
}
