package op

import (
	"context"
	"maps"
	"slices"
	"time"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/fill"
	"satchel/pipeline/pack"
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
func (e *Operations) Search(ctx context.Context, s scope.Scope, in schemas.SearchRequest) (schemas.SearchReply, error) {
	req, err := e.newSearchRequest(s, &in, pipeline.Request{}, in.Validate())
	if err != nil {
		return schemas.SearchReply{}, err
	}
	op := &searchOp{e: e, in: &in, as: pipeline.Spec{Name: "search", DropSuspects: true}}
	out, err := e.Run(ctx, op, req)
	if err != nil {
		return schemas.SearchReply{}, err
	}
	return schemas.SearchReply{
		Results: op.results(out, op.hits.Results), Warnings: out.Result.Payload.Explainability.Warnings,
	}, nil
}

// SearchByVector is Search by a vector made before, of the index's dimension.
func (e *Operations) SearchByVector(
	ctx context.Context, s scope.Scope, vector []float32, in schemas.SearchRequest,
) (schemas.SearchReply, error) {
	in.Query = ""
	in.Vector = vector
	return e.Search(ctx, s, in)
}

// newSearchRequest completes the request of a search or a build.
func (e *Operations) newSearchRequest(
	s scope.Scope, in *schemas.SearchRequest, r pipeline.Request, issues []schemas.Issue,
) (pipeline.Request, error) {
	r.TZ = in.TZ
	r.Query = in.Query
	r.Vector = in.Vector
	r.Options = &schemas.RequestPayload{MinPosition: in.MinPosition}
	r.Limits.MinScore = e.Admit.MinScore
	if in.MinScore != nil {
		r.Limits.MinScore = *in.MinScore
	}
	r.Limits.Items = in.Limit
	if in.Limit <= 0 {
		r.Limits.Items = defaultSearch
	}
	r.Limits, r.Notes = e.Admit.Slice.Bound(r.Limits, r.Notes)
	return e.Admit.Request(s, r, issues, "/vector")
}

// Up to a limit of steadyLimit a search looks at as many items as any, so that what it finds is the beginning of what it finds
// with a higher limit.
const (
	steadyLimit = 100
	steadyDepth = 140 // items that are ranked in full
)

// searchedFor is how many candidates a search of a limit chooses from.
func searchedFor(limit int) int {
	most := 2 * schemas.MaxLimit
	if limit <= steadyLimit {
		most = steadyDepth
	}
	return max(minCandidates, min(2*limit, most))
}

// searchOp finds memories and, where the client asks for relationships, the items linked to them.
type searchOp struct {
	e  *Operations
	in *schemas.SearchRequest
	as pipeline.Spec // a search, a build or a preview

	links      map[string][]graph.Visit // by the id of a result
	linkedOnly map[string]bool          // ids of what nothing but a link reaches
	hits       hits
}

func (o *searchOp) Spec() pipeline.Spec { return o.as }

// hits are the results of a search, as indexes of candidates.
type hits struct {
	Results  []int                           // best first
	Linked   map[int][]related               // by result: the items that its links reach
	Versions map[int][]schemas.MemoryVersion // by result: the older ones that it stands for
}

// leave takes out what the budget has no room for.
func (h *hits) leave(cs []candidate.Candidate) {
	dropped := map[string]bool{}
	for i := range cs {
		dropped[cs[i].ID] = cs[i].Drop == schemas.DropBudget
	}
	h.Results = slices.DeleteFunc(h.Results, func(i int) bool { return dropped[cs[i].ID] })
	for i, list := range h.Versions {
		h.Versions[i] = slices.DeleteFunc(list, func(v schemas.MemoryVersion) bool { return dropped[v.ID] })
	}
}

// related is an item that a link reaches.
type related struct {
	At    int
	Edge  schemas.Edge
	Depth int
}

func (o *searchOp) Plan(ctx context.Context, _ *pipeline.Recorder, req pipeline.Request, snap pipeline.Snapshot) (pipeline.Plan, error) {
	asked, where, narrowed, err := searchFilter(o.in, req.Zone())
	if err != nil {
		return pipeline.Plan{}, err
	}
	plan, err := o.e.Plan.Begin(ctx, req, snap)
	if err != nil {
		return pipeline.Plan{}, err
	}
	plan.Asked = asked
	plan.Narrowing.Filtered = narrowed
	if len(where) > 0 {
		plan.Narrowing.MinMatches = req.Limits.Items + minCandidates
	}
	plan.Query = selection.Query{
		Text: req.Query, Vector: req.Vector, Where: where, Now: req.Times.Ranking, FilterVisible: o.e.Judge.Visibility(req).FilterVisible,
		Limit: searchedFor(req.Limits.Items),
	}
	if req.Query == "" {
		plan.Query.Type = schemas.QuerySemantic
	}
	return plan, nil
}

func (o *searchOp) Retrieve(ctx context.Context, req pipeline.Request, plan pipeline.Plan) (pipeline.Retrieved, error) {
	q := plan.Narrow(plan.Asked)
	notes := plan.Notes
	if q.Text != "" && len(q.Vector) == 0 {
		vectors, noted, err := o.e.Find.Embed(ctx, req.Scope, notes, q.Text)
		if err != nil {
			return pipeline.Retrieved{}, err
		}
		notes = noted
		vectors.Ask(&q, 0)
	}
	return o.e.Find.Ask(ctx, req, q, notes)
}

// Rank orders by score. Where the client asks for relationships, it adds what the links of the
// best results reach.
func (o *searchOp) Rank(ctx context.Context, rec *pipeline.Recorder, req pipeline.Request, plan pipeline.Plan, auth pipeline.Authorized) (pipeline.Ranked, error) {
	ranking, err := o.e.Order.Pool(ctx, rec, req, auth, 0)
	if err != nil {
		return pipeline.Ranked{}, err
	}
	ranked := auth.Ranked(ranking)
	if o.in.IncludeRelationships {
		if ranked, err = o.follow(ctx, req, plan, auth, ranked); err != nil {
			return pipeline.Ranked{}, err
		}
		ranked = ranked.WithoutRead()
	}
	byStanding(ranked.Candidates)
	return o.e.Order.Defend(ctx, rec, o.Spec(), req, plan, ranked)
}

// Pack takes the results and what their links reach while the budget pays for them. The first that is too long has an
// extract.
func (o *searchOp) Pack(_ context.Context, req pipeline.Request, _ pipeline.Plan, ranked pipeline.Ranked) (pipeline.Packed, error) {
	out := newPacked(ranked.Notes)
	cs := ranked.Candidates
	found := o.chooseHits(req, ranked, fill.All(len(cs)))
	left := o.e.Admit.Slice.Left(req.Limits)
	counter := o.e.Admit.Counter("")
	for _, i := range found {
		c := &cs[i]
		size := len(c.Content.Text())
		fits := size <= left.Bytes && left.Take(compaction.Tokens(c, counter), size)
		if !fits && !out.Compacted && left.Items > 0 {
			room := min(left.Tokens, left.Bytes/bytesOfToken)
			fits = compaction.ShortenTo(c, room, compaction.Options{Query: req.Query, Budget: room, Counter: counter, Texts: o.e.texts}) &&
				left.Take(c.Extract.After, len(c.Content.Text()))
			out.Compacted = fits
		}
		if fits {
			out.Shown = append(out.Shown, i)
		} else {
			c.Drop = schemas.DropBudget
		}
	}
	o.hits.leave(cs)
	compaction.RestoreUnshown(cs)
	markShown(cs, out.Shown, schemas.DropRank)
	out.Sections = sectionsOf(cs, out.Shown, req.Limits.Tokens, "search: by similarity")
	return out, nil
}

// bytesOfToken is how many bytes a token of prose has.
const bytesOfToken = 4

// chooseHits takes the first found candidates of an order as results, each with its older versions, and adds the items
// that their links reach, over items and links that policy lets the principal see; shown has all of them. It drops the
// other candidates that score less than the request wants.
func (o *searchOp) chooseHits(req pipeline.Request, ranked pipeline.Ranked, order []int) (shown []int) {
	cs := ranked.Candidates
	at := make(map[string]int, len(cs))
	listed := map[int]bool{}
	linked := standsForLinked(cs, o.linkedOnly)
	newest, older := pack.Versions(cs)
	for i := range cs {
		at[cs[i].ID] = i
	}
	for _, i := range order {
		c := &cs[i]
		if c.Kept() && newest[i] < 0 && !linked[c.ID] && c.Score >= req.Limits.MinScore && len(shown) < req.Limits.Items {
			shown = append(shown, i)
			listed[i] = true
		}
	}
	out := hits{Results: slices.Clone(shown), Linked: map[int][]related{}, Versions: versionsOf(cs, older)}
	for _, i := range out.Results {
		for _, of := range older[i] {
			shown = append(shown, of)
			listed[of] = true
		}
	}
	for _, i := range out.Results {
		from := cs[i].ID
		reached := map[string]bool{from: true}
		for _, v := range o.links[from] {
			j, found := at[v.ID]
			owner, known := at[v.Via.From]
			if !found || !known || !reached[before(v)] || !cs[j].Kept() || hidesLinks(&cs[owner]) {
				continue
			}
			reached[v.ID] = true
			out.Linked[i] = append(out.Linked[i], related{j, v.Via, v.Distance})
			if !listed[j] {
				shown = append(shown, j)
				listed[j] = true
			}
		}
	}
	for i := range cs {
		if cs[i].Kept() && !listed[i] && cs[i].Score < req.Limits.MinScore {
			cs[i].Drop = schemas.DropScore
		}
	}
	o.hits = out
	return shown
}

// standsForLinked is what nothing but a link reaches, of itself and of what it stands for.
func standsForLinked(cs []candidate.Candidate, linkedOnly map[string]bool) map[string]bool {
	out := maps.Clone(linkedOnly)
	for i := range cs {
		if c := &cs[i]; !linkedOnly[c.ID] {
			delete(out, c.Of)
			delete(out, c.Newer)
		}
	}
	return out
}

// versionsOf is what candidates stand for: their older versions, and what says the same.
func versionsOf(cs []candidate.Candidate, older [][]int) map[int][]schemas.MemoryVersion {
	at := map[string]int{}
	out := map[int][]schemas.MemoryVersion{}
	for i := range cs {
		at[cs[i].ID] = i
		for _, of := range older[i] {
			out[i] = append(out[i], schemas.MemoryVersion{ID: cs[of].ID, CreatedAt: cs[of].CreatedAt, Difference: cs[of].Difference})
		}
	}
	for i := range cs {
		of, ok := at[cs[i].Of]
		if ok && cs[i].Drop == schemas.DropDuplicate {
			out[of] = append(out[of], schemas.MemoryVersion{ID: cs[i].ID, CreatedAt: cs[i].CreatedAt})
		}
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b schemas.MemoryVersion) int { return b.CreatedAt.Compare(a.CreatedAt) })
	}
	return out
}

// before is where a visit came from.
func before(v graph.Visit) string {
	if v.Via.From == v.ID {
		return v.Via.To
	}
	return v.Via.From
}

// results makes the results of the candidates at the indexes.
func (o *searchOp) results(out pipeline.Outcome, of []int) []schemas.SearchResult {
	shown := make(map[int]schemas.ResultItem, len(out.Packed.Shown))
	for n, i := range out.Packed.Shown {
		shown[i] = out.Result.Payload.Results[n]
	}
	results := make([]schemas.SearchResult, 0, len(of))
	for rank, i := range of {
		r := schemas.SearchResult{
			Memory: shown[i], Score: fourPlaces(similarity(&out.Ranked.Candidates[i])), Rank: rank + 1, Versions: o.hits.Versions[i],
		}
		for _, l := range o.hits.Linked[i] {
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
func searchFilter(in *schemas.SearchRequest, zone *time.Location) (asked schemas.Filter, where []filter.Predicate, narrowed bool, err error) {
	if asked, where, err = filter.Parse("/filters", in.Filters, zone); err != nil {
		return schemas.Filter{}, nil, false, err
	}
	narrowed = filter.Tells(in.Filters)
	if in.ConversationID != "" {
		asked = asked.And(oneOf(schemas.FieldSession, []string{in.ConversationID}))
		narrowed = true
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
