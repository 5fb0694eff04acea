package pipeline

import (
	"cmp"
	"context"
	"math"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// A search by date or confidence filters on what the indexes do not know, so what
// selection found may hold too few that pass. Then the nearest items of each
// index are read as well, and ranked by the mean of their z-scores.

// widest is how many items of an index are looked at.
const widest = 1000

// widen adds candidates that pass the predicates until there are enough of them.
func (f *finding) widen(ctx context.Context, q *selection.Query) error {
	t := f.t
	enough := min(t.limit, widest)
	if len(q.Where) == 0 || q.Filter.IsNone() || len(t.ranking.Candidates) >= enough {
		return nil
	}
	z, by := map[string]float64{}, map[string]string{}
	add := func(name, id string, score, mean, sd float64) {
		by[id] = name
		if sd > 0 {
			z[id] += (score - mean) / sd / 2
		}
	}
	if index := t.e.cfg.Keyword; index != nil && q.Text != "" {
		if found, err := index.Search(ctx, f.s, keyword.Query{Text: q.Text, Limit: widest, Filter: q.Filter}); err == nil {
			for _, h := range found.Hits {
				add(selection.NameKeyword, h.ID, h.Score, found.Mean, found.SD)
			}
		}
	}
	if index := t.e.cfg.Vector; index != nil && len(q.Vector) > 0 {
		if found, err := index.Search(ctx, f.s, vector.Query{Vector: q.Vector, Limit: widest, Filter: q.Filter}); err == nil {
			for _, h := range found.Hits {
				add(selection.NameVector, h.ID, h.Score, found.Mean, found.SD)
			}
		}
	}
	newest, err := t.e.cfg.Items.Recent(ctx, f.s, q.Filter, widest)
	if err != nil {
		return &schemas.Error{Code: schemas.CodeStorage, Message: "items could not be read"}
	}
	for _, id := range newest {
		z[id] += 0
	}
	for i := range t.ranking.Candidates {
		delete(z, t.ranking.Candidates[i].Record.ID)
	}
	ids := make([]string, 0, len(z))
	for id := range z {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(z[b], z[a]), cmp.Compare(a, b)) })
	return f.readWide(ctx, q, ids, enough+fewest, func(id string) (string, float64) {
		return cmp.Or(by[id], selection.NameRecency), z[id]
	})
}

// readWide makes candidates of the items that pass, in the order of ids.
func (f *finding) readWide(ctx context.Context, q *selection.Query, ids []string, most int, from func(id string) (string, float64)) error {
	t := f.t
	for start := 0; start < len(ids) && len(t.ranking.Candidates) < most; start += batch {
		records, err := t.e.cfg.Items.Get(ctx, f.s, ids[start:min(start+batch, len(ids))])
		if err != nil {
			return &schemas.Error{Code: schemas.CodeStorage, Message: "items could not be read"}
		}
		for i := range records {
			r := &records[i]
			fails := func(holds selection.Predicate) bool { return !holds(r) }
			if !q.Filter.Match(&r.Facets) || slices.ContainsFunc(q.Where, fails) {
				continue
			}
			name, z := from(r.ID)
			t.ranking.Candidates = append(t.ranking.Candidates, candidate.Candidate{
				Record: *r, Fused: z, Score: 1 / (1 + math.Exp(-(z-1.5)/.75)), // as selection maps it
				Channels: candidate.Channels{{Name: name, Channel: schemas.Channel{Rank: start + i + 1, Z: round(z)}}},
			})
			t.ranking.Found++
		}
	}
	return nil
}
