package op

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/pack/assembly"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/filter"
	"satchel/pipeline/selection/retrieve"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
)

// Defaults of a premortem.
const (
	defaultWarned    = 10 // items a category
	defaultPremortem = 1500
	principles       = 5 // values
)

// Premortem gathers the failures of a domain: falsified experiences, the results of a strategy,
// surprises, root causes and the values of the domain. It never fails because one of these five
// is missing. Every error is a *schemas.Error.
func (e *Operations) Premortem(
	ctx context.Context, s scope.Scope, in schemas.PremortemRequest,
) (schemas.FormattedContext, error) {
	title := "Premortem: " + in.Domain
	about := "principles for " + in.Domain
	if in.Strategy != "" {
		title = title + " with " + in.Strategy
		about = about + " using " + in.Strategy
	}
	limits, notes := e.Admit.Slice.Bound(pipeline.Limits{Items: cmp.Or(in.Limit, defaultWarned), Tokens: cmp.Or(in.MaxTokens, defaultPremortem)}, nil)
	req, err := e.Admit.Request(s, pipeline.Request{Query: about, Limits: limits, Notes: notes}, in.Validate(), "")
	if err != nil {
		return schemas.FormattedContext{}, err
	}
	op := &premortemOp{assembleOp: assembleOp{base: base{e}, name: "premortem", title: title, footer: countExperiences}, in: &in}
	op.addSources(limits.Items)
	return e.assemble(ctx, op, &op.assembleOp, req)
}

// premortemOp is an assembly whose sources are axes of experiences, and values.
type premortemOp struct {
	assembleOp
	in   *schemas.PremortemRequest
	axes []axisQuery // of the sources but the last, which are the values

	searches [][]axisFound // of each search: by axis
}

// axisQuery asks for experiences by one of their axes.
type axisQuery struct {
	axis, text string
	want       func(*schemas.ExperienceAttributes) bool
}

func (o *premortemOp) addSources(limit int) {
	domain := o.in.Domain
	strategy := o.in.Strategy
	of := func(x *schemas.ExperienceAttributes) bool { return strings.EqualFold(x.Domain, domain) }
	add := func(heading string, view assembly.View, weight int, q axisQuery) {
		o.sources = append(o.sources, source{
			name: assembly.Experiences, heading: heading, weight: weight, limit: limit, view: view,
			failing: view == assembly.Strategy, accepts: acceptsExperience(q.want),
		})
		o.axes = append(o.axes, q)
	}
	add("Common Failures", assembly.Full, 3, axisQuery{"", "failures and issues in " + domain,
		func(x *schemas.ExperienceAttributes) bool { return of(x) && x.OutcomeStatus == "falsified" }})
	if strategy != "" {
		add("Strategy Performance", assembly.Strategy, 2, axisQuery{"strategy", "outcomes using " + strategy + " strategy",
			func(x *schemas.ExperienceAttributes) bool { return strings.EqualFold(x.Strategy, strategy) }})
	}
	add("Unexpected Outcomes", assembly.Surprise, 2, axisQuery{"surprise", "unexpected outcomes in " + domain,
		func(x *schemas.ExperienceAttributes) bool { return of(x) && x.Surprise != "" }})
	add("Root Causes to Watch", assembly.RootCause, 2, axisQuery{"root_cause", "why hypotheses fail in " + domain,
		func(x *schemas.ExperienceAttributes) bool { return of(x) && x.RootCause != "" }})
	o.sources = append(o.sources, source{
		name: assembly.Values, heading: "Relevant Principles", weight: 1, limit: min(limit, principles),
		accepts: func(c *candidate.Candidate) bool { return !c.Verdict.Redact && o.ofDomain(c.Visible) },
	})
}

// acceptsExperience passes the wanted experiences, as far as the principal sees them whole.
func acceptsExperience(want func(*schemas.ExperienceAttributes) bool) func(*candidate.Candidate) bool {
	return func(c *candidate.Candidate) bool {
		x, err := c.Experience()
		return err == nil && !c.Verdict.Redact && want(&x)
	}
}

// ofDomain passes the values of the domain and the strategy, and those of none.
func (o *premortemOp) ofDomain(r *candidate.Visible) bool {
	v, err := r.Value()
	if err != nil {
		return true
	}
	return (v.Domain == "" || strings.EqualFold(v.Domain, o.in.Domain)) &&
		(v.Strategy == "" || o.in.Strategy == "" || strings.EqualFold(v.Strategy, o.in.Strategy))
}

// Retrieve asks all sources at once.
func (o *premortemOp) Retrieve(ctx context.Context, req pipeline.Request, plan pipeline.Plan) (pipeline.Retrieved, error) {
	texts := []string{req.Query}
	for _, q := range o.axes {
		texts = append(texts, q.text)
	}
	vectors, notes, err := o.e.Find.Embed(ctx, req.Scope, plan.Notes, texts...)
	if err != nil {
		return pipeline.Retrieved{}, err
	}
	axes := make([]axisFound, len(o.axes))
	pools := make([]selection.Found, len(o.sources))
	var wg sync.WaitGroup
	all := sync.OnceValues(func() ([]experience, error) { return o.allExperiences(ctx, req, experiencesOf(plan)) })
	for i, q := range o.axes {
		wg.Go(func() {
			axes[i] = o.searchAxis(ctx, req, plan, q, vectors, i+1, o.sources[i].limit+spare, all)
		})
	}
	last := len(o.sources) - 1
	values := sourceQuery(&o.sources[last], req, plan, vectors)
	values.Where = []filter.Predicate{o.ofDomain}
	pools[last].Pool, pools[last].Err = o.e.Find.Selector.Find(ctx, req.Scope, values)
	wg.Wait()
	for i := range axes {
		pools[i].Err = axes[i].err
	}
	out, err := searched(pools, o.sources, notes)
	if err != nil {
		return pipeline.Retrieved{}, err
	}
	out.Search = len(o.searches)
	o.searches = append(o.searches, axes)
	listed := map[string]bool{}
	for i := range axes {
		for _, r := range axes[i].records {
			if !listed[r.ID] {
				listed[r.ID] = true
				out.Named = append(out.Named, r)
			}
		}
	}
	return out, nil
}

// Rank takes what each axis found, and ranks the values.
func (o *premortemOp) Rank(ctx context.Context, rec *pipeline.Recorder, req pipeline.Request, plan pipeline.Plan, auth pipeline.Authorized) (pipeline.Ranked, error) {
	ranked, err := o.rankSources(ctx, rec, req, auth)
	if err != nil {
		return pipeline.Ranked{}, err
	}
	at := make(map[string]int, len(ranked.Candidates))
	for i := range ranked.Candidates {
		at[ranked.Candidates[i].ID] = i
	}
	axes := o.searches[auth.Search]
	for i := range axes {
		axis := &axes[i]
		var cs []candidate.Candidate
		for _, c := range auth.Named {
			if ch, found := axis.evidence[c.ID]; found && o.sources[i].accepts(&c) {
				c.SetScore(axis.scores[c.ID])
				c.Fused = c.Score
				c.Channels = candidate.Channels{ch}
				cs = append(cs, c)
			}
		}
		byStanding(cs)
		o.groups[i].add(&ranked, at, cs)
		ranked.Found += axis.found
		for _, w := range axis.warnings {
			ranked.Notes = ranked.Notes.With(o.sources[i].heading + ": " + w)
		}
		if axis.source != "" && !slices.Contains(ranked.Sources, axis.source) {
			ranked.Sources = append(ranked.Sources, axis.source)
		}
	}
	return o.order(ctx, rec, req, plan, ranked)
}

// nearest is how many experiences a search by axis looks at before it reads all of them: the indexes
// do not know a domain.
const nearest = 1000

// axisFound is what a search by one axis found.
type axisFound struct {
	records  []*schemas.Record
	scores   map[string]float64           // by id
	evidence map[string]candidate.Channel // by id
	found    int
	source   string // the retriever that answered
	warnings []string
	err      error
}

// add takes over the experience, found by a retriever at a place.
func (a *axisFound) add(r *schemas.Record, retriever string, place int, score float64) {
	a.records = append(a.records, r)
	a.scores[r.ID] = score
	a.evidence[r.ID] = candidate.Channel{Name: retriever, Channel: schemas.Channel{Rank: place, Score: fourPlaces(score)}}
}

// experience is one with its attributes read.
type experience struct {
	record     *schemas.Record
	attributes schemas.ExperienceAttributes
}

// allExperiences reads the experiences that any axis of the premortem wants, newest first.
func (o *premortemOp) allExperiences(ctx context.Context, req pipeline.Request, asked schemas.Filter) ([]experience, error) {
	ids, err := o.e.Find.Items.Recent(ctx, req.Scope, asked, items.Place{}, math.MaxInt32)
	if err != nil {
		return nil, fmt.Errorf("list experiences: %w", err)
	}
	var out []experience
	for part := range slices.Chunk(ids, pipeline.ReadBatch) {
		records, err := o.e.Find.Items.Get(ctx, req.Scope, part)
		if err != nil {
			return nil, fmt.Errorf("read experiences: %w", err)
		}
		for i := range records {
			r := &records[i]
			x, err := r.Experience()
			wants := func(q axisQuery) bool { return q.want(&x) }
			if err == nil && asked.Match(&r.Facets) && slices.ContainsFunc(o.axes, wants) {
				out = append(out, experience{r, x})
			}
		}
	}
	return out, nil
}

// searchAxis finds up to limit wanted experiences by the cosine of one axis with the vector of text n: first among the
// nearest, and where these are too few, among all.
func (o *premortemOp) searchAxis(
	ctx context.Context, req pipeline.Request, plan pipeline.Plan, q axisQuery, vectors pipeline.Vectors, n, limit int, all func() ([]experience, error),
) axisFound {
	e := o.e
	out := axisFound{scores: map[string]float64{}, evidence: map[string]candidate.Channel{}}
	asked := experiencesOf(plan)
	if asked.IsNone() {
		return out
	}
	by := vector.Query{Axis: q.axis, Limit: nearest, Filter: asked, Population: plan.Pushdown.Population.Settled(), Exclude: plan.Exclude}
	var noVector error
	hasVectors := len(vectors.Of) > n
	if hasVectors {
		by.Vector, by.Model = vectors.Of[n], vectors.By.Model().String()
		var found vector.Result
		found, noVector = e.Find.Vector.Search(ctx, req.Scope, by)
		if noVector == nil {
			out.source = retrieve.NameVector
			out.found = len(found.Hits)
			out.err = e.readAxis(ctx, req, &out, asked, q.want, limit, found.Hits)
			if out.err != nil || len(out.records) >= limit || len(found.Hits) < nearest {
				return out
			}
		}
	}
	list, err := all()
	if err != nil {
		out.err = cmp.Or(noVector, err)
		return out
	}
	if noVector != nil {
		out.warnings = append(out.warnings, retrieve.NameVector+": "+failure(noVector))
	}
	list = slices.DeleteFunc(slices.Clone(list), func(x experience) bool {
		_, has := out.evidence[x.record.ID]
		return has || !q.want(&x.attributes)
	})
	scores := make([]float64, len(list))
	if hasVectors && noVector == nil {
		ids := make([]string, len(list))
		for i := range list {
			ids[i] = list[i].record.ID
		}
		scores, out.err = e.Find.Vector.Score(ctx, req.Scope, by, ids)
		if out.err != nil {
			return out
		}
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for _, i := range order[:min(len(order), limit-len(out.records))] {
		out.add(list[i].record, retrieve.NameRecency, len(out.records)+1, min(max(scores[i], 0), 1))
	}
	return out
}

// experiencesOf is the filter of the experiences that policy may show.
func experiencesOf(plan pipeline.Plan) schemas.Filter {
	return ofKinds([]schemas.Kind{schemas.KindExperience}).And(plan.Pushdown.Filter)
}

// readAxis reads hits in their order until enough wanted experiences are found.
func (e *Operations) readAxis(
	ctx context.Context, req pipeline.Request, out *axisFound, asked schemas.Filter, want func(*schemas.ExperienceAttributes) bool, limit int, hits []vector.Hit,
) error {
	ids := make([]string, len(hits))
	scores := make(map[string]float64, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
		scores[h.ID] = min(max(h.Score, 0), 1)
	}
	place := 0
	for part := range slices.Chunk(ids, pipeline.ReadBatch) {
		records, err := e.Find.Items.Get(ctx, req.Scope, part)
		if err != nil {
			return fmt.Errorf("read experiences: %w", err)
		}
		for i := range records {
			r := &records[i]
			x, err := r.Experience()
			if err != nil || !asked.Match(&r.Facets) || !want(&x) {
				continue
			}
			out.add(r, retrieve.NameVector, place+i+1, scores[r.ID])
			if len(out.records) == limit {
				return nil
			}
		}
		place += len(part)
	}
	return nil
}

// countExperiences is the last line of a premortem: the experiences that are shown, each once,
// and how many were left out because they say the same.
func countExperiences(a *assembled, cs []candidate.Candidate, shown [][]assembly.Shown) string {
	ids := map[string]bool{}
	for g, group := range shown {
		for _, p := range group {
			if c := &cs[a.groups[g].Items[p.Item].At]; c.Kind == schemas.KindExperience {
				ids[c.ID] = true
			}
		}
	}
	alike := 0
	for i := range cs {
		if c := &cs[i]; c.Drop == schemas.DropDuplicate && ids[c.Of] {
			alike++
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
