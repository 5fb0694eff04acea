package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack/assembly"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// Defaults of a premortem.
const (
	defaultWarned    = 10 // items a category
	defaultPremortem = 1500
	principles       = 5 // values
)

// Premortem gathers what went wrong before in a domain: falsified experiences, how a
// strategy did, surprises, root causes and the values of the domain. It never fails
// because one of these five is missing. Every error is a *schemas.Error.
func (e *Engine) Premortem(ctx context.Context, s scope.Scope, req schemas.PremortemRequest) (schemas.FormattedContext, error) {
	limit := cmp.Or(req.Limit, defaultWarned)
	title, about := "Premortem: "+req.Domain, "principles for "+req.Domain
	if req.Strategy != "" {
		title, about = title+" with "+req.Strategy, about+" using "+req.Strategy
	}
	t, err := e.enter(s, errand{query: about, limit: limit, budget: cmp.Or(req.MaxTokens, defaultPremortem), issues: req.Validate()})
	if err != nil {
		return schemas.FormattedContext{}, typed(ctx, err)
	}
	p := &premortem{assembling: assembling{t: t, s: s, title: title}, req: &req}
	in := func(x *schemas.ExperienceAttributes) bool { return x.Domain == req.Domain }
	p.add("Common Failures", assembly.Full, "", "failures and issues in "+req.Domain,
		func(x *schemas.ExperienceAttributes) bool { return in(x) && x.OutcomeStatus == "falsified" })
	if req.Strategy != "" {
		p.add("Strategy Performance", assembly.Strategy, "strategy", "outcomes using "+req.Strategy+" strategy",
			func(x *schemas.ExperienceAttributes) bool { return x.Strategy == req.Strategy })
	}
	p.add("Unexpected Outcomes", assembly.Surprise, "surprise", "unexpected outcomes in "+req.Domain,
		func(x *schemas.ExperienceAttributes) bool { return in(x) && x.Surprise != "" })
	p.add("Root Causes to Watch", assembly.RootCause, "root_cause", "why hypotheses fail in "+req.Domain,
		func(x *schemas.ExperienceAttributes) bool { return in(x) && x.RootCause != "" })
	p.groups = append(p.groups, &source{name: assembly.Values, heading: "Relevant Principles", weight: 1, limit: min(limit, principles),
		of: func(c *candidate.Candidate) bool { return !c.Verdict.Redact && p.ofDomain(&c.Record) }})
	p.footer = p.count
	return p.run(ctx, "premortem", p.gather)
}

// premortem is a premortem on its way.
type premortem struct {
	assembling
	req     *schemas.PremortemRequest
	queries []axisQuery
}

// axisQuery is one of the queries over experiences, by one axis of theirs.
type axisQuery struct {
	axis, text string
	want       func(*schemas.ExperienceAttributes) bool
}

func (p *premortem) add(heading string, view assembly.View, axis, text string, want func(*schemas.ExperienceAttributes) bool) {
	weight := 2
	if view == assembly.Full {
		weight = 3
	}
	p.groups = append(p.groups, &source{
		name: assembly.Experiences, heading: heading, weight: weight, limit: p.t.limit, view: view, failing: view == assembly.Strategy,
		of: experienceOf(want),
	})
	p.queries = append(p.queries, axisQuery{axis, text, want})
}

// experienceOf passes the experiences that are wanted by what the asker may see of them.
func experienceOf(want func(*schemas.ExperienceAttributes) bool) func(*candidate.Candidate) bool {
	return func(c *candidate.Candidate) bool {
		x, err := c.Record.Experience()
		return err == nil && !c.Verdict.Redact && want(&x)
	}
}

// gather asks all five at once.
func (p *premortem) gather(ctx context.Context, pushed schemas.Filter) error {
	texts := []string{p.t.query}
	for _, q := range p.queries {
		texts = append(texts, q.text)
	}
	vectors, err := p.t.embedQuery(ctx, texts...)
	if err != nil {
		return err
	}
	vectorOf := func(i int) []float32 {
		if len(vectors) == len(texts) {
			return vectors[i]
		}
		return nil
	}
	var wg sync.WaitGroup
	for i, q := range p.queries {
		g := p.groups[i]
		wg.Go(func() { p.search(ctx, g, q, vectorOf(i+1), pushed) })
	}
	values := p.groups[len(p.groups)-1]
	values.ranking, values.err = p.t.e.selector.Rank(ctx, p.s, p.query(values, p.t.query, vectorOf(0), pushed, []selection.Predicate{p.ofDomain}))
	wg.Wait()
	return p.merge()
}

// ofDomain passes the values of the domain and the strategy, and those of none.
func (p *premortem) ofDomain(r *schemas.Record) bool {
	v, err := r.Value()
	if err != nil {
		return true
	}
	return (v.Domain == "" || v.Domain == p.req.Domain) && (v.Strategy == "" || p.req.Strategy == "" || v.Strategy == p.req.Strategy)
}

// Sizes of an axis search: a domain is no field that indexes know, so the experiences
// nearest to the query are read until enough are of it, and then the newest.
const (
	nearest = 1000
	newest  = 1000
	batch   = 100
)

// search finds experiences by the cosine of one axis, those of the domain only.
func (p *premortem) search(ctx context.Context, g *source, q axisQuery, v []float32, pushed schemas.Filter) {
	filter := ofKinds([]schemas.Kind{schemas.KindExperience}).And(pushed)
	g.ranking = selection.Ranking{}
	want := g.limit + spare
	seen := map[string]bool{}
	index := p.t.e.cfg.Vector
	var notFound error
	if index != nil && len(v) > 0 && !filter.IsNone() {
		found, err := index.Search(ctx, p.s, vector.Query{Vector: v, Axis: q.axis, Limit: nearest, Filter: filter})
		if notFound = err; err == nil {
			g.ranking.Sources = append(g.ranking.Sources, selection.NameVector)
			g.ranking.Found = len(found.Hits)
		}
		ids := make([]string, len(found.Hits))
		score := make(map[string]float64, len(ids))
		for i, h := range found.Hits {
			ids[i], score[h.ID] = h.ID, h.Score
		}
		g.err = p.read(ctx, g, q, ids, want, seen, filter, func(id string, rank int) (string, float64) {
			return selection.NameVector, min(max(score[id], 0), 1)
		})
	}
	if g.err != nil || len(g.ranking.Candidates) >= want || filter.IsNone() {
		return
	}
	ids, err := p.t.e.cfg.Items.Recent(ctx, p.s, filter, newest)
	if err != nil {
		g.err = cmp.Or(notFound, err)
		return
	}
	if notFound != nil {
		g.ranking.Warnings = append(g.ranking.Warnings, selection.NameVector+": "+failure(notFound))
	}
	g.err = p.read(ctx, g, q, ids, want, seen, filter, func(string, int) (string, float64) { return selection.NameRecency, 0 })
}

// read makes candidates of the items that are of the domain, in the order of ids.
func (p *premortem) read(ctx context.Context, g *source, q axisQuery, ids []string, want int, seen map[string]bool,
	filter schemas.Filter, from func(id string, rank int) (string, float64)) error {
	for start := 0; start < len(ids) && len(g.ranking.Candidates) < want; start += batch {
		records, err := p.t.e.cfg.Items.Get(ctx, p.s, ids[start:min(start+batch, len(ids))])
		if err != nil {
			return fmt.Errorf("read experiences: %w", err)
		}
		for i := range records {
			r := &records[i]
			x, err := r.Experience()
			if err != nil || seen[r.ID] || !filter.Match(&r.Facets) || !q.want(&x) || len(g.ranking.Candidates) >= want {
				continue
			}
			seen[r.ID] = true
			name, score := from(r.ID, start+i+1)
			g.ranking.Candidates = append(g.ranking.Candidates, candidate.Candidate{
				Record: *r, Fused: score, Score: score,
				Channels: candidate.Channels{{Name: name, Channel: schemas.Channel{Rank: start + i + 1, Score: round(score)}}},
			})
		}
	}
	return nil
}

// count is the footer: the experiences that are shown, each once, and how many were left
// out because they say the same.
func (p *premortem) count(shown [][]assembly.Shown) string {
	ids := map[int]bool{}
	for g, group := range shown {
		for _, s := range group {
			if p.groups[g].name == assembly.Experiences {
				ids[p.groupsOf[g].Items[s.Item].At] = true
			}
		}
	}
	cs := p.t.ranking.Candidates
	alike := 0
	for i := range ids {
		for j := range cs {
			if c := &cs[j]; c.Verdict.Allow && c.Drop == schemas.DropDuplicate && c.Of == cs[i].Record.ID {
				alike++
			}
		}
	}
	footer := "Based on " + counted(len(ids), "past experience")
	switch {
	case alike == 1 && len(ids) == 1:
		footer += " and 1 like it"
	case alike > 0:
		footer += fmt.Sprintf(" and %d like them", alike)
	}
	return footer
}
