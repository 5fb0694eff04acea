package pipeline

import (
	"bytes"
	"context"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack/assembly"
	"satchel/pipeline/selection"
	"satchel/schemas"
)

// gather asks all sources at once.
func (a *assembling) gather(ctx context.Context, pushed schemas.Filter) error {
	vectors, err := a.t.embedQuery(ctx, a.t.query)
	if err != nil {
		return err
	}
	var vector []float32
	if len(vectors) == 1 {
		vector = vectors[0]
	}
	queries := make([]selection.Query, len(a.groups))
	for i, g := range a.groups {
		queries[i] = a.query(g, a.t.query, vector, pushed, nil)
	}
	for i, r := range a.t.e.selector.RankEach(ctx, a.s, queries) {
		a.groups[i].ranking, a.groups[i].err = r.Ranking, r.Err
	}
	return a.merge()
}

// query asks for the items of a source's kinds.
func (a *assembling) query(g *source, text string, vector []float32, pushed schemas.Filter, where []selection.Predicate) selection.Query {
	if g.name == assembly.Experiences && where == nil {
		where = []selection.Predicate{wholeExperience}
	}
	return selection.Query{
		Text: text, Vector: vector, Filter: ofKinds(assembly.Kinds(g.name)).And(pushed), Where: where, Skip: skipGraph(vector),
		Now: a.t.now, Limit: g.limit + spare, Depth: assembledDepth,
	}
}

// skipGraph leaves out the walk over links, which are between kinds, and the vector
// index when there is no vector.
func skipGraph(vector []float32) func(string) bool {
	return func(retriever string) bool {
		return retriever == selection.NameGraph || len(vector) == 0 && retriever == selection.NameVector
	}
}

// wholeExperience passes what is not one axis of an experience alone.
func wholeExperience(r *schemas.Record) bool {
	if !bytes.Contains(r.Attributes, []byte(`"axis"`)) {
		return true
	}
	x, err := r.Experience()
	return err != nil || x.Axis == "" || x.Axis == "full"
}

// merge makes one list of what the sources found, each item once with its best score.
func (a *assembling) merge() error {
	t := a.t
	at := map[string]int{}
	sources := map[string]bool{}
	failed, all := 0, 0
	for _, g := range a.groups {
		all += len(g.ranking.Candidates)
	}
	t.ranking.Candidates = make([]candidate.Candidate, 0, all)
	t.ranking.Sources = []string{}
	for _, g := range a.groups {
		if g.err != nil {
			failed++
			t.warnings = append(t.warnings, g.heading+": "+failure(g.err))
			continue
		}
		t.warnings = append(t.warnings, withPrefix(g.heading, g.ranking.Warnings)...)
		t.ranking.Found += g.ranking.Found
		for _, name := range g.ranking.Sources {
			if !sources[name] {
				sources[name] = true
				t.ranking.Sources = append(t.ranking.Sources, name)
			}
		}
		g.score = make(map[string]float64, len(g.ranking.Candidates))
		for _, c := range g.ranking.Candidates {
			g.score[c.Record.ID] = c.Score
			i, known := at[c.Record.ID]
			if !known {
				at[c.Record.ID] = len(t.ranking.Candidates)
				t.ranking.Candidates = append(t.ranking.Candidates, c)
			} else if c.Score > t.ranking.Candidates[i].Score {
				t.ranking.Candidates[i] = c
			}
		}
	}
	if failed == len(a.groups) {
		return &schemas.Error{Code: schemas.CodeSearch, Message: "no source answered"}
	}
	return nil
}

func withPrefix(prefix string, warnings []string) []string {
	out := make([]string, len(warnings))
	for i, w := range warnings {
		out[i] = prefix + ": " + w
	}
	return out
}
