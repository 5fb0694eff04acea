package pipeline

import (
	"cmp"
	"context"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/filter"
	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// defaultSearch is how many results a search has by default.
const defaultSearch = 10

// Search finds memories by text and ranks them by similarity. An empty result is not an
// error. Every error is a *schemas.Error.
func (e *Engine) Search(ctx context.Context, s scope.Scope, in schemas.SearchRequest) (schemas.SearchReply, error) {
	req, err := e.newSearchRequest(s, &in, Request{}, in.Validate())
	if err != nil {
		return schemas.SearchReply{}, typed(ctx, err)
	}
	out, err := e.run(ctx, &searchOp{e, &in, Spec{Name: "search", DropSuspects: true}}, req)
	if err != nil {
		return schemas.SearchReply{}, err
	}
	return schemas.SearchReply{
		Results: resultsOf(out, out.Packed.Hits.Results), Warnings: out.Result.Payload.Explainability.Warnings,
	}, nil
}

// SearchByVector is Search by a vector made before, of the index's dimension.
func (e *Engine) SearchByVector(
	ctx context.Context, s scope.Scope, vector []float32, in schemas.SearchRequest,
) (schemas.SearchReply, error) {
	in.Query, in.Vector = "", vector
	return e.Search(ctx, s, in)
}

// newSearchRequest completes the request of a search or a build.
func (e *Engine) newSearchRequest(
	s scope.Scope, in *schemas.SearchRequest, r Request, issues []schemas.Issue,
) (Request, error) {
	r.Query, r.Vector, r.Options = in.Query, in.Vector, &schemas.RequestPayload{MinPosition: in.MinPosition}
	r.Limits.MinScore = e.cfg.MinScore
	if in.MinScore != nil {
		r.Limits.MinScore = *in.MinScore
	}
	if r.Limits.Items = in.Limit; in.Limit <= 0 {
		r.Limits.Items = defaultSearch
	}
	return e.newRequest(s, r, issues, "/vector")
}

// searchOp finds memories and, where the client asks for relationships, the items linked to them.
type searchOp struct {
	e  *Engine
	in *schemas.SearchRequest
	as Spec // a search, a build or a preview
}

func (o *searchOp) spec() Spec { return o.as }

// hits are the results of a search, as indexes of candidates.
type hits struct {
	Results []int             // best first
	Linked  map[int][]related // by result: the items that its links reach
}

// related is an item that a link reaches.
type related struct {
	At    int
	Edge  schemas.Edge
	Depth int
}

func (o *searchOp) plan(ctx context.Context, _ *Recorder, req Request, snap Snapshot) (Plan, error) {
	asked, where, narrowed, err := searchFilter(o.in)
	if err != nil {
		return Plan{}, err
	}
	plan, err := o.e.newPlan(ctx, req, snap)
	if err != nil {
		return Plan{}, err
	}
	plan.Asked, plan.Narrowing.Filtered = asked, narrowed
	if len(where) > 0 {
		plan.Narrowing.MinMatches = req.Limits.Items + minCandidates
	}
	plan.Query = selection.Query{
		Text: req.Query, Vector: req.Vector, Where: where, Now: req.Times.Ranking, FilterVisible: (&visibility{o.e, req}).FilterVisible,
		Limit: max(minCandidates, min(2*req.Limits.Items, 2*schemas.MaxLimit)),
	}
	if req.Query == "" {
		plan.Query.Type = schemas.QuerySemantic
	}
	return plan, nil
}

func (o *searchOp) retrieve(ctx context.Context, req Request, plan Plan) (Retrieved, error) {
	q, notes := plan.query(plan.Asked), plan.Notes
	if q.Text != "" && len(q.Vector) == 0 {
		vectors, noted, err := o.e.embedQuery(ctx, req.Scope, notes, q.Text)
		if err != nil {
			return Retrieved{}, err
		}
		notes = noted
		vectors.ask(&q, 0)
	}
	return o.e.find(ctx, req, q, notes)
}

// rank orders by score. Where the client asks for relationships, it adds what the links of the
// best results reach.
func (o *searchOp) rank(ctx context.Context, rec *Recorder, req Request, plan Plan, auth Authorized) (Ranked, error) {
	ranking, err := o.e.rankPool(ctx, rec, req, auth, 0)
	if err != nil {
		return Ranked{}, err
	}
	ranked := rankedBy(ranking, auth)
	if o.in.IncludeRelationships {
		if ranked, err = o.follow(ctx, req, plan, auth, ranked); err != nil {
			return Ranked{}, err
		}
		ranked = ranked.withoutRead()
	}
	byStanding(ranked.Candidates)
	return o.e.defend(ctx, rec, o.spec(), req, plan, ranked)
}

func (o *searchOp) pack(_ context.Context, req Request, _ Plan, ranked Ranked) (Packed, error) {
	out := newPacked(ranked.Notes)
	out.Hits, out.Shown = chooseHits(req, ranked)
	markShown(ranked.Candidates, out.Shown, schemas.DropRank)
	out.Sections = sectionsOf(ranked.Candidates, out.Shown, req.Limits.Tokens, "search: by similarity")
	return out, nil
}

// chooseHits takes the best found candidates as results and adds the items that their links reach,
// over items and links that policy lets the principal see; shown has both. It drops the other
// candidates that score less than the request wants.
func chooseHits(req Request, ranked Ranked) (out hits, shown []int) {
	cs := ranked.Candidates
	at := make(map[string]int, len(cs))
	listed := map[int]bool{}
	for i := range cs {
		c := &cs[i]
		at[c.ID] = i
		if c.Kept() && !ranked.LinkedOnly[c.ID] && c.Score >= req.Limits.MinScore && len(shown) < req.Limits.Items {
			shown, listed[i] = append(shown, i), true
		}
	}
	// The best by standing, in the order of the scores that they show.
	slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(cs[b].Score, cs[a].Score) })
	out = hits{Results: slices.Clone(shown), Linked: map[int][]related{}}
	for _, i := range out.Results {
		from := cs[i].ID
		reached := map[string]bool{from: true}
		for _, v := range ranked.Links[from] {
			j, found := at[v.ID]
			owner, known := at[v.Via.From]
			if !found || !known || !reached[before(v)] || !cs[j].Kept() || hidesLinks(&cs[owner]) {
				continue
			}
			reached[v.ID] = true
			out.Linked[i] = append(out.Linked[i], related{j, v.Via, v.Distance})
			if !listed[j] {
				shown, listed[j] = append(shown, j), true
			}
		}
	}
	for i := range cs {
		if cs[i].Kept() && !listed[i] && cs[i].Score < req.Limits.MinScore {
			cs[i].Drop = schemas.DropScore
		}
	}
	return out, shown
}

// before is where a visit came from.
func before(v graph.Visit) string {
	if v.Via.From == v.ID {
		return v.Via.To
	}
	return v.Via.From
}

// resultsOf makes the results of the candidates at the indexes.
func resultsOf(out Outcome, of []int) []schemas.SearchResult {
	shown := make(map[int]schemas.ResultItem, len(out.Packed.Shown))
	for n, i := range out.Packed.Shown {
		shown[i] = out.Result.Payload.Results[n]
	}
	results := make([]schemas.SearchResult, 0, len(of))
	for rank, i := range of {
		r := schemas.SearchResult{Memory: shown[i], Score: fourPlaces(similarity(&out.Ranked.Candidates[i])), Rank: rank + 1}
		for _, l := range out.Packed.Hits.Linked[i] {
			if m, ok := shown[l.At]; ok {
				r.Relationships = append(r.Relationships, schemas.RelatedMemory{Memory: m, Relationship: l.Edge, Depth: l.Depth})
			}
		}
		results = append(results, r)
	}
	return results
}

// similarity is the fused relevance that selection found, 0–1.
func similarity(c *candidate.Candidate) float64 { return min(max(c.Score, 0), 1) }

// confidence is an item's own, 1 without one.
func confidence(r *candidate.Visible) float64 {
	if r.Confidence == nil {
		return 1
	}
	return *r.Confidence
}

// searchFilter splits a search's options into a filter for the stores and predicates over what
// the principal may see. narrowed reports whether there are any.
func searchFilter(in *schemas.SearchRequest) (asked schemas.Filter, where []filter.Predicate, narrowed bool, err error) {
	if asked, where, err = filter.Parse("/filters", in.Filters); err != nil {
		return schemas.Filter{}, nil, false, err
	}
	narrowed = filter.Tells(in.Filters)
	if in.ConversationID != "" {
		asked, narrowed = asked.And(oneOf(schemas.FieldSession, []string{in.ConversationID})), true
	}
	if len(in.MemoryTypes) > 0 {
		field, ok := typesField(in.MemoryTypes)
		if ok {
			asked = asked.And(oneOf(field, in.MemoryTypes))
		} else {
			where = append(where, func(v *candidate.Visible) bool {
				return slices.Contains(in.MemoryTypes, string(v.Kind)) || slices.Contains(in.MemoryTypes, string(v.Type)) ||
					slices.Contains(in.MemoryTypes, v.Category)
			})
		}
		narrowed = narrowed || !ok || field == schemas.FieldCategory
	}
	if !in.DateFrom.IsZero() || !in.DateTo.IsZero() {
		where = append(where, func(v *candidate.Visible) bool {
			return !v.CreatedAt.Before(in.DateFrom) && (in.DateTo.IsZero() || v.CreatedAt.Before(in.DateTo))
		})
	}
	if in.MinConfidence != nil {
		where = append(where, func(v *candidate.Visible) bool { return confidence(v) >= *in.MinConfidence })
	}
	return asked, where, narrowed || len(where) > 0, nil
}

// typesField returns the one field that all names of memory types belong to.
func typesField(names []string) (schemas.Field, bool) {
	fieldOf := func(name string) schemas.Field {
		switch schemas.MemoryType(name) {
		case schemas.Episodic, schemas.Procedural, schemas.Semantic:
			return schemas.FieldType
		}
		if _, ok := schemas.Kind(name).Info(); ok {
			return schemas.FieldKind
		}
		return schemas.FieldCategory
	}
	field := fieldOf(names[0])
	return field, !slices.ContainsFunc(names, func(name string) bool { return fieldOf(name) != field })
}

// Bounds of the links that a search follows.
const (
	maxHops    = 3  // a longer way is not walked
	maxRelated = 50 // items reached from one result
)
