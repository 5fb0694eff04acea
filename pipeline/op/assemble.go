package op

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/pack/assembly"
	"satchel/pipeline/passage"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/filter"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// Defaults of an assembly.
const (
	defaultAssembled = 20 // items a source
	spare            = 10 // more that are asked for, in place of dropped ones
	// relevanceFloor is the relevance under which an item that shares no word with the query is
	// not about it: with few items in a source, the best of them need not be.
	relevanceFloor = .3
	// besideBest is the share of the best relevance of all sources that an item needs, and manyBesideBest
	// what a turn of a conversation, a document, code and a commit need: of these there are many that have a
	// common word of the query.
	besideBest     = .05
	manyBesideBest = .1
	covers         = .8 // share of the query from which no other is nearer: a long text resembles nothing
	// assembledDepth is how many items of a source are read: there are five of them.
	assembledDepth = 64
)

// Assemble puts memories, code, experiences, values and commits about a query into one
// Markdown text; package assembly says how. A source that fails is left out with a
// warning, and only when all fail is it an error. The text may take a tenth more than
// max_tokens where a source would have nothing else, and then says so. Every error is
// a *schemas.Error; a context type that is not there is invalid_context_type.
func (e *Operations) Assemble(
	ctx context.Context, s scope.Scope, in schemas.AssembleRequest,
) (schemas.FormattedContext, error) {
	types := schemas.ContextTypes()
	for i, name := range in.ContextTypes {
		if !slices.Contains(types, name) {
			return schemas.FormattedContext{}, &schemas.Error{
				Code: schemas.CodeInvalidContextType, Field: fmt.Sprintf("/context_types/%d", i), Available: types,
				Message: "there is no such context type; there are " + strings.Join(types, ", "),
			}
		}
	}
	op := &assembleOp{
		base: base{e}, name: "assemble", title: "Context", floor: relevanceFloor, footer: countItems, dropRepeated: true, ends: !in.Fill,
	}
	limits, notes := e.Admit.Slice.Bound(pipeline.Limits{
		Items: cmp.Or(in.Limit, defaultAssembled), Tokens: cmp.Or(in.MaxTokens, schemas.DefaultTokenBudget), MinScore: e.Admit.MinScore,
	}, nil)
	if in.MinScore != nil {
		limits.MinScore = *in.MinScore
		op.floor = 0
		op.ends = false // the client says what is too little
	}
	req, err := e.Admit.Request(s, pipeline.Request{Query: in.Query, TZ: in.TZ, Limits: limits, Notes: notes, Options: &schemas.RequestPayload{Fill: in.Fill}}, in.Validate(), "")
	if err != nil {
		return schemas.FormattedContext{}, err
	}
	for _, name := range types {
		if len(in.ContextTypes) == 0 || slices.Contains(in.ContextTypes, name) {
			op.sources = append(op.sources, source{
				name: name, heading: assembly.Heading(name), weight: assembly.Weight(name), limit: limits.Items,
			})
		}
	}
	return e.assemble(ctx, op, op, req)
}

// assemble runs an assembly or a premortem.
func (e *Operations) assemble(
	ctx context.Context, op pipeline.Operation, of *assembleOp, req pipeline.Request,
) (schemas.FormattedContext, error) {
	out, err := e.Run(ctx, op, req)
	if err != nil {
		return schemas.FormattedContext{}, err
	}
	return of.reply(out), nil
}

// source is one section of an assembly.
type source struct {
	name    string // context type
	heading string
	weight  int
	limit   int
	view    assembly.View
	failing bool                            // failures come first
	accepts func(*candidate.Candidate) bool // by the redacted record; nil: every candidate of the source
}

// assembleOp asks several sources and writes one text of their items.
type assembleOp struct {
	base
	name         string
	title        string
	sources      []source
	footer       func(a *assembled, cs []candidate.Candidate, shown [][]assembly.Shown) string
	floor        float64 // relevance under which only words speak for an item; 0: none
	dropRepeated bool    // no two sources show the same
	ends         bool    // the text ends where more is worth too little for its tokens

	groups  []found            // of each source
	factors map[string]float64 // by id, the factor by which Rank changed the score
	more    int                // candidates that are not shown as they bear on the question less than others, but filling shows
	made    assembled
}

// found is what one source found.
type found struct {
	scores map[string]float64 // by id
}

// Between sources it makes no difference who said what.
func (o *assembleOp) Spec() pipeline.Spec {
	return pipeline.Spec{Name: o.name, DropSuspects: true, IgnoreSpeakers: true, AnyTopic: true}
}

// Retrieve asks all sources at once, and one query more for what is shown by its passages: these
// compete with each other, whatever source they are of.
func (o *assembleOp) Retrieve(ctx context.Context, req pipeline.Request, plan pipeline.Plan) (pipeline.Retrieved, error) {
	vectors, notes, err := o.e.Find.Embed(ctx, req.Scope, plan.Notes, req.Query)
	if err != nil {
		return pipeline.Retrieved{}, err
	}
	var kinds, quoted []schemas.Kind
	for i := range o.sources {
		for _, k := range assembly.Kinds(o.sources[i].name) {
			kinds = append(kinds, k)
			if mayBeCut(k) {
				quoted = append(quoted, k)
			}
		}
	}
	// Of other kinds nothing is asked for, so what policy denies of them is never found out.
	known := plan.Pushdown.Population
	plan.Pushdown.Population = known.And(ofKinds(kinds))
	var queries []selection.Query
	var of []int
	for i := range o.sources {
		if !o.quoted(i) {
			queries = append(queries, sourceQuery(&o.sources[i], req, plan, vectors))
			of = append(of, i)
		}
	}
	if len(quoted) > 0 {
		q := passageQuery(quoted, req, plan, vectors)
		q.FilterVisible = o.e.Judge.Visibility(req).FilterVisible
		q.Known = known
		queries = append(queries, q)
		of = append(of, len(o.sources))
	}
	pools := make([]selection.Found, len(o.sources)+1)
	for n, f := range o.e.Find.Selector.FindEach(ctx, req.Scope, queries) {
		pools[of[n]] = f
	}
	return searched(pools, o.sources, notes)
}

// quoted reports whether a source has nothing but items that are shown by their passages.
func (o *assembleOp) quoted(i int) bool {
	return !slices.ContainsFunc(assembly.Kinds(o.sources[i].name), func(k schemas.Kind) bool { return !mayBeCut(k) || k == schemas.KindKnowledge })
}

// searched is what the sources found. A source that failed is named in a note; when all of them
// did, it is an error.
func searched(found []selection.Found, sources []source, notes pipeline.Notes) (pipeline.Retrieved, error) {
	failed := 0
	asked := 0
	for i := range found {
		if found[i].Err != nil {
			failed++
			notes = notes.With(headingOf(sources, i) + ": " + failure(found[i].Err))
			found[i].Pool = nil
		}
		if found[i].Err != nil || found[i].Pool != nil {
			asked++
		}
	}
	if failed == asked {
		return pipeline.Retrieved{}, &schemas.Error{Code: schemas.CodeSearch, Message: "no source answered"}
	}
	return pipeline.Retrieved{Pools: found, Notes: notes}, nil
}

// headingOf is the heading of what a query found. After the sources stands what several of them
// show by its passages.
func headingOf(sources []source, i int) string {
	if i < len(sources) {
		return sources[i].heading
	}
	var of []string
	for n := range sources {
		if slices.ContainsFunc(assembly.Kinds(sources[n].name), mayBeCut) {
			of = append(of, sources[n].heading)
		}
	}
	return "Passages of " + strings.Join(of, ", ")
}

// sourceQuery asks for the items of a source's kinds that are shown as they are. It leaves out the
// walk over links, which are between kinds, and the vector index where there is no vector.
func sourceQuery(src *source, req pipeline.Request, plan pipeline.Plan, vectors pipeline.Vectors) selection.Query {
	q := kindsQuery(assembly.Kinds(src.name), req, plan, vectors)
	q.Limit = src.limit + spare
	q.Depth = assembledDepth
	if slices.ContainsFunc(assembly.Kinds(src.name), mayBeCut) {
		q.Where = []filter.Predicate{func(v *candidate.Visible) bool { return !byPassages(v) }}
	}
	if src.name == assembly.Experiences {
		q.Where = []filter.Predicate{wholeExperience}
	}
	return q
}

// passageQuery asks for what is shown by its passages, as a context request does.
func passageQuery(kinds []schemas.Kind, req pipeline.Request, plan pipeline.Plan, vectors pipeline.Vectors) selection.Query {
	q := kindsQuery(kinds, req, plan, vectors)
	q.Limit = candidateLimit(pipeline.Limits{Items: maxByLimit, Tokens: req.Limits.Tokens})
	q.Cut = passage.Of
	q.Where = []filter.Predicate{byPassages}
	return q
}

func kindsQuery(kinds []schemas.Kind, req pipeline.Request, plan pipeline.Plan, vectors pipeline.Vectors) selection.Query {
	q := plan.Narrow(ofKinds(kinds))
	q.Text = req.Query
	q.Now = req.Times.Ranking
	q.Skip = func(retriever string) bool { return retriever == retrieve.NameGraph }
	vectors.Ask(&q, 0)
	return q
}

// byPassages reports whether an item is found by the query for passages.
func byPassages(v *candidate.Visible) bool {
	return mayBeCut(v.Kind) && (v.Kind != schemas.KindKnowledge || passage.Of(v))
}

// mayBeCut reports whether items of a kind may be cut into passages.
func mayBeCut(k schemas.Kind) bool {
	return k == schemas.KindKnowledge || k == schemas.KindCode || k == schemas.KindCommit
}

// wholeExperience passes what is not one axis of an experience alone.
func wholeExperience(r *candidate.Visible) bool {
	if !bytes.Contains(r.Attributes, []byte(`"axis"`)) {
		return true
	}
	x, err := r.Experience()
	return err != nil || x.Axis == "" || x.Axis == "full"
}

// rankSources ranks what each source found and the principal may see, and makes one list of it,
// each item once with its best score. What is found after the sources' own is shared out among them.
func (o *assembleOp) rankSources(ctx context.Context, rec *pipeline.Recorder, req pipeline.Request, auth pipeline.Authorized) (pipeline.Ranked, error) {
	sources := o.sources
	out := auth.Ranked(selection.Ranking{Sources: []string{}})
	o.groups = make([]found, len(sources))
	at := map[string]int{}
	for i := range auth.Pools {
		if auth.Pools[i].Pool == nil {
			continue
		}
		ranking, err := o.e.Order.Pool(ctx, rec, req, auth, i)
		if err != nil {
			return pipeline.Ranked{}, err
		}
		for _, w := range ranking.Warnings {
			out.Notes = out.Notes.With(headingOf(sources, i) + ": " + w)
		}
		out.Found += ranking.Found
		out.Embedding = cmp.Or(out.Embedding, ranking.Embedding)
		if i == len(sources) { // the query for passages
			out.Vector = ranking.Vector
		}
		for _, name := range ranking.Sources {
			if !slices.Contains(out.Sources, name) {
				out.Sources = append(out.Sources, name)
			}
		}
		if i < len(sources) {
			o.groups[i].add(&out, at, ranking.Candidates)
			continue
		}
		out.Unmentioned = ranking.Unmentioned
		for g := range sources {
			kinds := assembly.Kinds(sources[g].name)
			own := slices.DeleteFunc(slices.Clone(ranking.Candidates), func(c candidate.Candidate) bool { return !slices.Contains(kinds, c.Kind) })
			o.groups[g].add(&out, at, own)
		}
	}
	return out, nil
}

// add takes over what a source found into the one list.
func (g *found) add(out *pipeline.Ranked, at map[string]int, cs []candidate.Candidate) {
	if g.scores == nil {
		g.scores = make(map[string]float64, len(cs))
	}
	for j := range cs {
		c := &cs[j]
		g.scores[c.ID] = c.Standing
		if n, known := at[c.ID]; !known {
			at[c.ID] = len(out.Candidates)
			out.Candidates = append(out.Candidates, *c)
		} else if c.Standing > out.Candidates[n].Standing {
			out.Candidates[n] = *c
		}
	}
}

func (o *assembleOp) Rank(ctx context.Context, rec *pipeline.Recorder, req pipeline.Request, plan pipeline.Plan, auth pipeline.Authorized) (pipeline.Ranked, error) {
	ranked, err := o.rankSources(ctx, rec, req, auth)
	if err != nil {
		return pipeline.Ranked{}, err
	}
	if err := o.addCauses(ctx, req, plan, auth, &ranked); err != nil {
		return pipeline.Ranked{}, err
	}
	return o.order(ctx, rec, req, plan, ranked)
}

// order adjusts scores by source and sorts by them, so that of two items that say the same the
// more relevant one stays. What is shown by its passages is ordered by those.
func (o *assembleOp) order(ctx context.Context, rec *pipeline.Recorder, req pipeline.Request, plan pipeline.Plan, ranked pipeline.Ranked) (pipeline.Ranked, error) {
	cs := ranked.Candidates
	dropBelow(cs, req.Limits.MinScore)
	if slices.Contains(ranked.Sources, retrieve.NameKeyword) {
		o.dropIrrelevant(req, cs)
	}
	o.factors = make(map[string]float64, len(cs))
	for i := range cs {
		factor := 1.
		if !passage.Of(cs[i].Visible) {
			factor = assembly.Adjust(cs[i].Visible, 1, req.Times.Ranking)
		}
		o.factors[cs[i].ID] = factor
		cs[i].Score *= factor
		cs[i].Standing *= factor
	}
	byStanding(cs)
	ranked, err := o.e.Order.Defend(ctx, rec, o.Spec(), req, plan, ranked)
	o.standIn(ranked)
	if o.ends && lacksName(&ranked) {
		o.more = keepFew(ranked.Candidates)
	}
	return ranked, err
}

// standIn has each source find what stands for an older item that it found.
func (o *assembleOp) standIn(ranked pipeline.Ranked) {
	kinds := map[string]schemas.Kind{}
	for i := range ranked.Candidates {
		kinds[ranked.Candidates[i].ID] = ranked.Candidates[i].Kind
	}
	for i := range ranked.Candidates {
		c := &ranked.Candidates[i]
		for _, newer := range []string{c.Of, c.Newer} {
			for g := range o.sources {
				scores := o.groups[g].scores
				if score, found := scores[c.ID]; found && slices.Contains(assembly.Kinds(o.sources[g].name), kinds[newer]) {
					scores[newer] = max(scores[newer], score)
				}
			}
		}
	}
}

// dropIrrelevant drops the items that nothing speaks for: little relevance, and no word of the
// query, or far less relevance than the best item of all sources. Of documents, code and commits the
// passages are chosen later, if no memory bears on the query more than the best of them. A greeting asks for nothing, and
// nothing bears on made-up words.
func (o *assembleOp) dropIrrelevant(req pipeline.Request, cs []candidate.Candidate) {
	best := bestRelevance(cs)
	quoted := 0.
	nothing := o.floor > 0 && (fourPlaces(best) == 0 || req.Greets())
	for i := range cs {
		if passage.Of(cs[i].Visible) {
			quoted = max(quoted, cs[i].Signals.Bears())
		}
	}
	for i := range cs {
		c := &cs[i]
		_, linked := c.Channels.Of(retrieve.NameGraph)
		cut := passage.Of(c.Visible)
		if nothing && c.Kept() {
			c.Drop = schemas.DropOffTopic
			c.Detail = "the query asks for nothing that is here"
		}
		if !c.Kept() || linked || cut && quoted >= best {
			continue
		}
		least := besideBest * best
		if cut || c.IsTurn() {
			least = manyBesideBest * best
		}
		if word, _ := c.Channels.Of(retrieve.NameKeyword); !cut && c.Standing < o.floor && word.Score <= 0 {
			c.Drop = schemas.DropOffTopic
			c.Detail = fmt.Sprintf("it has no word of the query, and its score is below %g", o.floor)
		} else if o.floor > 0 && c.Signals != nil && c.Signals.Evidence.Bears < least && c.Signals.Evidence.Words < covers {
			c.Drop = schemas.DropOffTopic
			c.Detail = fmt.Sprintf("relevance %.3f is below %.3f: another is far nearer", c.Signals.Evidence.Bears, least)
		}
	}
}
