package pipeline

import (
	"context"
	"fmt"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/graph"
	"satchel/schemas"
)

// Defaults of a search.
const (
	defaultSearch = 10 // results
	deepest       = 3  // hops that relationships are followed; more are not walked
	mostRelated   = 50 // memories reached from one result
)

// Search finds memories by text and ranks them by similarity. An empty result is not
// an error. Every error is a *schemas.Error.
func (e *Engine) Search(ctx context.Context, s scope.Scope, req schemas.SearchRequest) (schemas.SearchReply, error) {
	t, err := e.enter(s, errandOf(&req, 0, "", req.Validate()))
	if err != nil {
		return schemas.SearchReply{}, typed(ctx, err)
	}
	f := newFinding(t, s, &req)
	res, err := t.pass(ctx, s, door{name: "search", gather: f.gather, order: best, fill: func(context.Context) error {
		shown := f.found()
		t.close(f.withRelated(shown), schemas.DropRank)
		t.sections("search: by similarity")
		return nil
	}})
	if err != nil {
		return schemas.SearchReply{}, err
	}
	results := f.results(f.main, &res)
	return schemas.SearchReply{Results: results, Warnings: res.Payload.Explainability.Warnings}, nil
}

// SearchByVector is Search by a vector made before, of the index's dimension.
func (e *Engine) SearchByVector(ctx context.Context, s scope.Scope, vector []float32, req schemas.SearchRequest) (schemas.SearchReply, error) {
	req.Query, req.Vector = "", vector
	return e.Search(ctx, s, req)
}

func errandOf(req *schemas.SearchRequest, budget int, model string, issues []schemas.Issue) errand {
	limit := req.Limit
	if limit <= 0 {
		limit = defaultSearch
	}
	return errand{
		query: req.Query, vector: req.Vector, limit: limit, budget: budget, model: model,
		minPosition: req.MinPosition, issues: issues,
	}
}

// finding is a search on its way.
type finding struct {
	t      *turn
	s      scope.Scope
	req    *schemas.SearchRequest
	walks  map[string][]graph.Visit // by the result they start from
	extra  map[string]bool          // ids that were only reached, not found
	main   []int                    // the results, best first
	linked map[string][]reached     // by result, once policy has answered
}

func newFinding(t *turn, s scope.Scope, req *schemas.SearchRequest) *finding {
	if t.minScore = t.e.cfg.MinScore; req.MinScore != nil {
		t.minScore = *req.MinScore
	}
	return &finding{t: t, s: s, req: req}
}

// reached is a related candidate.
type reached struct {
	at    int
	edge  schemas.Edge
	depth int
}

// gather finds candidates by the query, and what is linked to them.
func (f *finding) gather(ctx context.Context, pushed schemas.Filter) error {
	t := f.t
	asked, where, readings := searchFilter(f.req)
	t.readings, t.filtered = readings, len(readings) > 0
	q := selection.Query{
		Text: t.query, Vector: f.req.Vector, Filter: asked.And(pushed), Where: where, Now: t.now,
		Limit: max(fewest, min(2*t.limit, 2*schemas.MaxLimit)),
	}
	if len(where) > 0 {
		t.enough = t.limit + fewest
		q.Enough = t.enough
	}
	if t.query == "" {
		q.Type = schemas.QuerySemantic
	} else if len(q.Vector) == 0 {
		vectors, err := t.embedQuery(ctx, t.query)
		if err != nil {
			return err
		}
		if len(vectors) == 1 {
			q.Vector = vectors[0]
		} else {
			q.Skip = blind(nil)
		}
	}
	var err error
	if q.Vouch, q.Hides = t.vouch(f.s), t.hides(f.s); q.Hides != nil {
		q.Depth = q.Limit // what is read and not decided on would show in scores
	}
	if t.ranking, err = t.e.selector.Rank(ctx, f.s, q); err != nil {
		return err
	}
	t.warnings = append(t.warnings, t.ranking.Warnings...)
	if f.req.IncludeRelationships {
		return f.follow(ctx, pushed)
	}
	return nil
}

// searchFilter is what of a search's options the stores can evaluate, the rest, and what
// they look at that redaction may change.
func searchFilter(req *schemas.SearchRequest) (out schemas.Filter, where []selection.Predicate, readings []selection.Reading) {
	out = schemas.MatchAll()
	if req.ConversationID != "" {
		out = out.And(schemas.Where(schemas.Cond{Field: schemas.FieldSession, Op: schemas.In, Values: []string{req.ConversationID}}))
		readings = append(readings, func(r *schemas.Record) any { return r.SessionID() })
	}
	if len(req.MemoryTypes) > 0 {
		field, ok := typesField(req.MemoryTypes)
		if ok {
			out = out.And(schemas.Where(schemas.Cond{Field: field, Op: schemas.In, Values: req.MemoryTypes}))
		} else {
			where = append(where, func(r *schemas.Record) bool {
				return slices.Contains(req.MemoryTypes, string(r.Kind)) || slices.Contains(req.MemoryTypes, string(r.Type)) ||
					slices.Contains(req.MemoryTypes, r.Category)
			})
		}
		if !ok || field == schemas.FieldCategory {
			readings = append(readings, func(r *schemas.Record) any { return r.Category })
		}
	}
	if !req.DateFrom.IsZero() || !req.DateTo.IsZero() {
		where = append(where, func(r *schemas.Record) bool {
			return !r.CreatedAt.Before(req.DateFrom) && (req.DateTo.IsZero() || r.CreatedAt.Before(req.DateTo))
		})
		readings = append(readings, func(r *schemas.Record) any { return r.CreatedAt })
	}
	if req.MinConfidence != nil {
		where = append(where, func(r *schemas.Record) bool { return confidence(r) >= *req.MinConfidence })
		readings = append(readings, func(r *schemas.Record) any { return confidence(r) })
	}
	return out, where, readings
}

// typesField is the one field that all names of memory types are of.
func typesField(names []string) (schemas.Field, bool) {
	fields := map[schemas.Field]bool{}
	for _, n := range names {
		_, kind := schemas.Kind(n).Info()
		switch {
		case kind:
			fields[schemas.FieldKind] = true
		case n == string(schemas.Episodic) || n == string(schemas.Procedural) || n == string(schemas.Semantic):
			fields[schemas.FieldType] = true
		default:
			fields[schemas.FieldCategory] = true
		}
	}
	for f := range fields {
		return f, len(fields) == 1
	}
	return "", false
}

func confidence(r *schemas.Record) float64 {
	if r.Confidence == nil {
		return 1
	}
	return *r.Confidence
}

// follow walks the links of the best results and makes candidates of what they reach.
func (f *finding) follow(ctx context.Context, pushed schemas.Filter) error {
	t := f.t
	if t.e.cfg.Graph == nil {
		t.warnings = append(t.warnings, "graph: there is none, relationships are left out")
		return nil
	}
	depth := min(max(f.req.RelationshipDepth, 1), deepest)
	if f.req.RelationshipDepth > deepest {
		t.warnings = append(t.warnings, fmt.Sprintf("graph: relationships are followed %d hops, no further", deepest))
	}
	f.walks, f.extra = map[string][]graph.Visit{}, map[string]bool{}
	t.reached = f.extra
	known := map[string]bool{}
	for i := range t.ranking.Candidates {
		known[t.ranking.Candidates[i].Record.ID] = true
	}
	parents := map[string]candidate.Candidate{}
	var ids []string
	for i := range t.ranking.Candidates[:min(2*t.limit, len(t.ranking.Candidates))] {
		from := t.ranking.Candidates[i]
		visits, err := t.e.cfg.Graph.Walk(ctx, f.s, graph.Walk{From: []string{from.Record.ID}, Hops: depth, Filter: pushed})
		if err != nil {
			t.warnings = append(t.warnings, "graph: relationships: "+failure(err))
			break
		}
		visits = linkedTo(from.Record.ID, visits)
		f.walks[from.Record.ID] = visits
		for _, v := range visits {
			if !known[v.ID] {
				known[v.ID], f.extra[v.ID] = true, true
				from.Span = nil
				from.Channels = candidate.Channels{{Name: selection.NameGraph, Channel: schemas.Channel{Rank: v.Distance, Score: 1 / (1 + float64(v.Distance))}}}
				from.Score = t.ranking.Candidates[i].Score / (1 + float64(v.Distance))
				parents[v.ID] = from
				ids = append(ids, v.ID)
			}
		}
	}
	records, err := t.e.cfg.Items.Get(ctx, f.s, ids)
	if err != nil {
		return &schemas.Error{Code: schemas.CodeStorage, Message: "items could not be read"}
	}
	for _, r := range records {
		if pushed.Match(&r.Facets) {
			c := parents[r.ID]
			c.Record, c.Fused, c.Signals = r, 0, nil
			t.ranking.Candidates = append(t.ranking.Candidates, c)
		}
	}
	return nil
}

// linkedTo keeps the visits whose way from the start is over links between items.
func linkedTo(start string, visits []graph.Visit) []graph.Visit {
	ok := map[string]bool{start: true}
	kept := visits[:0]
	for _, v := range visits {
		if ok[before(v)] && v.ID != start && len(v.ID) > 0 && !isEntity(v.ID) && len(kept) < mostRelated {
			ok[v.ID] = true
			kept = append(kept, v)
		}
	}
	return kept
}

// before is where a visit came from.
func before(v graph.Visit) string {
	if v.Via.From == v.ID {
		return v.Via.To
	}
	return v.Via.From
}

func isEntity(id string) bool {
	const prefix = "entity:"
	return len(id) > len(prefix) && id[:len(prefix)] == prefix
}

// found takes the best of what was found, without what was only reached or scores less
// than the request wants.
func (f *finding) found() []int {
	f.main = nil
	for i := range f.t.ranking.Candidates {
		c := &f.t.ranking.Candidates[i]
		if c.Kept() && !f.extra[c.Record.ID] && c.Score >= f.t.minScore && len(f.main) < f.t.limit {
			f.main = append(f.main, i)
		}
	}
	return f.main
}

// withRelated adds to results what their links reach, over items and links that policy
// lets the asker see. What scores too little and is no such thing is dropped for that.
func (f *finding) withRelated(results []int) []int {
	cs := f.t.ranking.Candidates
	at := make(map[string]int, len(cs))
	for i := range cs {
		at[cs[i].Record.ID] = i
	}
	f.linked = map[string][]reached{}
	shown := slices.Clone(results)
	listed := map[int]bool{}
	for _, i := range shown {
		listed[i] = true
	}
	for _, i := range results {
		from := cs[i].Record.ID
		ok := map[string]bool{from: true}
		for _, v := range f.walks[from] {
			j, there := at[v.ID]
			owner, known := at[v.Via.From]
			if !there || !known || !ok[before(v)] || !cs[j].Kept() || hidesLinks(&cs[owner]) {
				continue
			}
			ok[v.ID] = true
			f.linked[from] = append(f.linked[from], reached{j, v.Via, v.Distance})
			if !listed[j] {
				listed[j] = true
				shown = append(shown, j)
			}
		}
	}
	for i := range cs {
		if cs[i].Kept() && !listed[i] && cs[i].Score < f.t.minScore {
			cs[i].Drop = schemas.DropScore
		}
	}
	return shown
}

// hidesLinks reports whether the links of an item are not for the asker.
func hidesLinks(c *candidate.Candidate) bool {
	return !c.Verdict.Allow || c.Verdict.Redact && len(c.Record.Links) == 0
}

// results are the candidates at the indexes as they leave.
func (f *finding) results(of []int, res *schemas.ContextResult) []schemas.SearchResult {
	out := make([]schemas.SearchResult, 0, len(of))
	leaves := map[int]schemas.ResultItem{}
	for i, at := range f.t.packed.Shown {
		leaves[at] = res.Payload.Results[i]
	}
	for rank, i := range of {
		c := &f.t.ranking.Candidates[i]
		r := schemas.SearchResult{Memory: leaves[i], Score: round(similarity(c)), Rank: rank + 1}
		for _, l := range f.linked[c.Record.ID] {
			if m, ok := leaves[l.at]; ok {
				r.Relationships = append(r.Relationships, schemas.RelatedMemory{Memory: m, Relationship: l.edge, Depth: l.depth})
			}
		}
		out = append(out, r)
	}
	return out
}
