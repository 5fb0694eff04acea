package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/pipeline/pack"
	"satchel/pipeline/passage"
	"satchel/pipeline/relevance"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/filter"
	"satchel/pipeline/selection/rank"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// Context answers a request. The scope says who the principal is: the engine does not read
// the request's own claims about that. Every error is a *schemas.Error.
func (e *Engine) Context(ctx context.Context, s scope.Scope, in schemas.ContextRequest) (schemas.ContextResult, error) {
	out, err := e.answer(ctx, s, &in)
	return out.Result, err
}

// Reply is Context for a caller that wants the result as JSON. Parts that the log and the
// reply share are encoded once.
func (e *Engine) Reply(ctx context.Context, s scope.Scope, in schemas.ContextRequest) (json.RawMessage, error) {
	out, err := e.answer(ctx, s, &in)
	if err != nil {
		return nil, err
	}
	res := out.Result
	body, err := out.encoder.encode(&res)
	if err != nil {
		return nil, typed(ctx, fmt.Errorf("encode result: %w", err))
	}
	return body, nil
}

func (e *Engine) answer(ctx context.Context, s scope.Scope, in *schemas.ContextRequest) (Outcome, error) {
	req, err := e.newContextRequest(s, in)
	if err != nil {
		return Outcome{}, typed(ctx, err)
	}
	out, err := e.run(ctx, &contextOp{e: e}, req)
	if err == nil {
		e.shown.Add(s, req.Session, out.Ranked.Candidates, out.Packed.Shown, in.Payload.Repeat == schemas.RepeatStable)
		e.compactLater(req, &out)
	}
	return out, err
}

// Rank returns the candidates that a request would choose from, best first: those that policy
// allows and no defense drops, before any budget. It writes nothing to the log, so the caller
// MUST NOT give them to a client. It serves evaluation.
func (e *Engine) Rank(ctx context.Context, s scope.Scope, in schemas.ContextRequest) ([]candidate.Candidate, error) {
	req, err := e.newContextRequest(s, &in)
	if err != nil {
		return nil, typed(ctx, err)
	}
	rec := e.newRecorder(req)
	defer rec.End()
	out, err := e.stages(ctx, rec, &contextOp{e, AfterRank}, req)
	if err != nil {
		return nil, typed(ctx, err)
	}
	kept := out.Ranked.Candidates[:0]
	for _, c := range out.Ranked.Candidates {
		if c.Kept() {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// contextOp makes a context pack.
type contextOp struct {
	e   *Engine
	end End
}

func (o *contextOp) spec() Spec {
	return Spec{Name: "request", Rerank: true, ReplaceToolContent: true, Summarize: true, End: o.end}
}

// The numbers of candidates that a pack is chosen from.
const (
	minCandidates = 100  // of any request
	maxByLimit    = 400  // for the sake of the limit
	maxByBudget   = 1000 // for a large budget
	leeway        = 3    // times the limit
	mostTools     = 30   // of them, tools, unless other items are fewer
	shortItem     = 15   // tokens: a budget is filled from items that are all as short
)

// candidateLimit returns how many candidates a pack is chosen from.
func candidateLimit(limits Limits) int {
	byBudget := min(max(limits.Tokens/shortItem, minCandidates), maxByBudget)
	most := max(min(limits.Items, maxByLimit), byBudget)
	return min(most, max(leeway*limits.Items, minCandidates))
}

// plan reads the request's filters, has relevance decide which kinds of items are needed, and
// adds the filter of the policy.
func (o *contextOp) plan(ctx context.Context, rec *Recorder, req Request, snap Snapshot) (Plan, error) {
	p := req.Options
	asked, where, err := filter.Parse("/payload/query/filters", p.Query.Filters, req.Zone())
	if err != nil {
		return Plan{}, err
	}
	need, trace, notes, err := o.relevance(ctx, rec, req)
	if err != nil {
		return Plan{}, err
	}
	snap.Notes = snap.Notes.With(notes...)
	plan, err := o.e.newPlan(ctx, req, snap)
	if err != nil {
		return Plan{}, err
	}
	plan.Relevance = trace
	plan.Narrowing.Filtered = filter.Tells(p.Query.Filters)
	if len(where) > 0 || p.AsOf > 0 && !snap.InFuture || !p.AsOfTime.IsZero() {
		plan.Narrowing.MinMatches = req.Limits.Items
	}
	if kinds := need.Kinds(); len(kinds) < len(schemas.Kinds()) {
		asked = asked.And(ofKinds(kinds))
	}
	plan.Given = o.e.planGiven(req, need, trace != nil)
	o.e.measures(req.Scope.Tenant()).gated(need, o.e.spared(plan))
	if trace != nil {
		where = append(where, func(v *candidate.Visible) bool { return need.Wants(&v.Facets) })
	}
	if p.Repeat == schemas.RepeatStable && p.Session != "" && !req.isReplay() {
		plan.Previous = o.e.shown.Last(req.Scope, p.Session)
	}
	plan.Asked = asked
	plan.Query = selection.Query{
		Text: req.Query, Previous: plan.Previous, Type: p.Query.Type, Vector: req.Vector, Graph: p.Query.Graph, Where: where,
		Skip:          func(retriever string) bool { return !need.NeedsRetriever(retriever) },
		FilterVisible: (&visibility{o.e, req}).FilterVisible,
		Now:           req.Times.Ranking, AsOf: p.AsOf, AsOfTime: p.AsOfTime, Profile: p.Profile,
		Override: rank.Override{Weights: p.Weights, Lambda: p.Lambda}, Limit: candidateLimit(req.Limits), Tools: mostTools,
		Cut: passage.Of,
	}
	return plan, nil
}

// relevance decides which items the request needs. A client that does not ask for that needs all.
func (o *contextOp) relevance(
	ctx context.Context, rec *Recorder, req Request,
) (d relevance.Decision, trace *schemas.RelevanceTrace, notes Notes, err error) {
	asked, gate := req.Options.Relevance, o.e.cfg.Relevance
	if asked == nil {
		return d, nil, nil, nil
	}
	if gate == nil {
		return d, nil, Notes{"relevance: there is no gate, everything is included"}, nil
	}
	turn, err := o.e.measureTurn(ctx, req)
	if err != nil {
		return d, nil, nil, err
	}
	d, _ = staged(ctx, rec, "relevance", func(context.Context) (relevance.Decision, error) {
		return gate.Decide(relevance.From(asked).Measured(turn)), nil
	})
	why := d.Trace
	for _, w := range why.Warnings {
		notes = append(notes, "relevance: "+w)
	}
	o.e.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "relevance decided",
		slog.String("request", req.ID), slog.Any("relevance", d))
	return d, &why, notes, nil
}

// retrieve reads what the request is given, and searches where more than that is wanted.
func (o *contextOp) retrieve(ctx context.Context, req Request, plan Plan) (Retrieved, error) {
	out, err := o.e.readGiven(ctx, req, plan)
	if err != nil || !plan.Given.search {
		return out, err
	}
	found, err := o.e.find(ctx, req, plan.query(plan.Asked), plan.Notes)
	found.Named, found.Given = out.Named, out.Given
	return found, err
}

// rank leaves the order of the query. It warns of items that were recorded again since the
// moment that the request is about.
func (o *contextOp) rank(ctx context.Context, rec *Recorder, req Request, plan Plan, auth Authorized) (Ranked, error) {
	var ranking selection.Ranking
	var err error
	if plan.Given.search {
		if ranking, err = o.e.rankPool(ctx, rec, req, auth, 0); err != nil {
			return Ranked{}, err
		}
	}
	ranked := rankedBy(ranking, auth)
	if plan.Given.search {
		ranked.Notes = ranked.Notes.With(o.e.warnSuperseded(ctx, req, auth)...)
	}
	found := len(ranked.Candidates) + len(ranked.Unread)
	ranked.Candidates = give(plan, auth, ranked.Candidates)
	ranked = ranked.withoutRead()
	ranked.Found += len(ranked.Candidates) + len(ranked.Unread) - found
	ranked, err = o.e.defend(ctx, rec, o.spec(), req, plan, ranked)
	dropBelow(ranked.Candidates, req.Limits.MinScore)
	keepGiven(ranked.Candidates)
	if ranked.HardlyAnswered {
		ranked.Notes = ranked.Notes.With("relevance: what was found is hardly relevant")
	}
	if !fills(req) {
		ranked.More = ranked.dropBeside()
		if ranked.doubtful() {
			ranked.More += ranked.keepFew()
		}
	}
	return ranked, err
}

// pack builds the pack, the affordances and the causal graph. It abbreviates items that the
// session was shown lately.
func (o *contextOp) pack(ctx context.Context, req Request, plan Plan, ranked Ranked) (Packed, error) {
	e, cs := o.e, ranked.Candidates
	req.Limits.Tokens = plan.budget(req)
	out := Packed{Notes: ranked.Notes.With(o.abbreviate(req, cs)...)}
	budget := req.Limits.Tokens
	in := pack.Request{
		Unmentioned: ranked.Unmentioned, Unanswered: ranked.Unanswered, Doubtful: ranked.doubtful(),
		UserMessage: req.Options.UserMessage, Task: req.Options.Task, Query: req.Query, Purpose: req.Scope.Purpose(),
		Budget: budget, Limit: req.Limits.Items, Bytes: req.Limits.Bytes, Counter: e.cfg.Tokens(req.Model),
		Farther: e.packEnd(req), More: ranked.More, Days: asked(req), Zone: req.Zone(), Denied: denials(req, ranked), Before: selection.SessionPlaces(plan.Previous, cs),
	}
	if in.Farther > 0 {
		e.markNeeded(ctx, req.Scope, plan.Pushdown.Filter, req.Query, cs, in.Doubtful)
	}
	quoted, notes := e.quote(ctx, req, plan, ranked, quoting{
		Budget: e.builder.Room(in, cs), Farther: e.passagesEnd(req), Items: in.Limit, Model: req.Model,
		Measure: func(c *candidate.Candidate) int { return e.builder.Cost(in.Counter, c, in.Zone) },
	}, cs)
	if in.Farther > 0 {
		in.More += worthLess(cs)
		if in.Doubtful {
			in.More += leftByDoubt(cs)
		}
	}
	out.Pack, out.Compacted = e.buildPack(req, in, cs)
	out.Compacted, out.Notes = out.Compacted || quoted, out.Notes.With(notes...)
	for i := range out.Lost {
		d := &out.Lost[i]
		out.Notes = out.Notes.With(fmt.Sprintf("budget: %s is cut: %s; %d tokens do not fit in the budget of %d", d.ItemID, d.Detail, d.Tokens, budget))
	}
	if out.ItemsLimited && out.Tokens < budget*95/100 {
		hint := "ask for a higher limit to see more"
		if req.Limits.Items >= e.cfg.Slice.named() {
			hint = "more are not given here"
		}
		out.Notes = out.Notes.With(fmt.Sprintf("budget: %d items are the limit and take %d of %d tokens: %s", req.Limits.Items, out.Tokens, budget, hint))
	}
	out.Affordances = e.cfg.Rules.Afford(cs, out.Shown, in.Doubtful || ranked.Unanswered)
	var err error
	out.Causal, out.Notes, err = e.causal(ctx, req, ranked, out)
	return out, err
}

// lacksName reports whether the question has a name that nothing here has, and the rest of it is not
// answered either.
func (r *Ranked) lacksName() bool {
	return len(r.Unmentioned) > 0 && bestRelevance(r.Candidates) < answersAnyway
}

// doubtful reports whether what is shown hardly answers the question.
func (r *Ranked) doubtful() bool { return r.HardlyAnswered || r.lacksName() }

// dropBeside drops documents that a memory is far nearer than, unless they have the words of the question. It returns how many.
func (r *Ranked) dropBeside() (dropped int) {
	var memory, document float64
	for i := range r.Candidates {
		if c := &r.Candidates[i]; !c.Kept() || c.Kind == schemas.KindTool {
			continue
		} else if passage.Of(c.Visible) {
			document = max(document, c.Score)
		} else {
			memory = max(memory, c.Score)
		}
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		says := c.Signals != nil && c.Signals.Evidence.Words >= covers
		if memory > document && !says && c.Kept() && c.Given == candidate.NotGiven && passage.Of(c.Visible) && c.Score < besideMemory*memory {
			c.Drop, c.Detail = schemas.DropRank, "a memory is far nearer"+candidate.FillShows
			dropped++
		}
	}
	return dropped
}

// keepFew drops all but the first few items, and returns how many. What is given and tools stay.
func (r *Ranked) keepFew() (dropped int) {
	kept := 0
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if !c.Kept() || c.Given != candidate.NotGiven || c.Kind == schemas.KindTool {
			continue
		}
		if kept++; kept > few {
			c.Drop, c.Detail = schemas.DropOffTopic, hardlyAnything
			dropped++
		}
	}
	return dropped
}

// hardlyAnything is the detail of a drop of a pack that shows little because of doubt.
const hardlyAnything = "hardly anything answers, so little is shown" + candidate.FillShows

// leftByDoubt says of the items whose passages had no room that the room was small because of doubt. It returns how many.
func leftByDoubt(cs []candidate.Candidate) (left int) {
	for i := range cs {
		if c := &cs[i]; c.Drop == schemas.DropBudget {
			c.Drop, c.Detail = schemas.DropOffTopic, hardlyAnything
			left++
		}
	}
	return left
}

// packEnd is how far below the best value a pack ends, 0 where it takes its budget.
func (e *Engine) packEnd(req Request) float64 {
	switch {
	case fills(req) || req.Query == "" || language.AsksAll(req.Query, req.Times.Ranking):
		return 0
	case e.passages.WantsMany(req.Query):
		return ends + manyMore
	}
	return ends
}

// passagesEnd is how far below the best value the passages of documents, code and commits end, 0 where they take the budget.
func (e *Engine) passagesEnd(req Request) float64 {
	if end := e.packEnd(req); end > 0 {
		return end + passagesMore
	}
	return 0
}

// worthLess counts the candidates that are dropped as others are worth far more.
func worthLess(cs []candidate.Candidate) (n int) {
	for i := range cs {
		if cs[i].Drop == schemas.DropRank && cs[i].Detail == candidate.WorthLess {
			n++
		}
	}
	return n
}

// fills reports whether a text takes its whole budget: so does one whose items are to stay from turn to turn.
func fills(req Request) bool { return req.Options.Fill || req.Options.Repeat == schemas.RepeatStable }

// bestRelevance is that of the best candidate that is kept.
func bestRelevance(cs []candidate.Candidate) float64 {
	best := 0.
	for i := range cs {
		if cs[i].Kept() && cs[i].Signals != nil {
			best = max(best, cs[i].Signals.Evidence.Bears)
		}
	}
	return best
}

// abbreviate shortens items that the session was shown lately, unless the client wants them whole
// or asks for a replay.
func (o *contextOp) abbreviate(req Request, cs []candidate.Candidate) Notes {
	if req.Options.Repeat != "" || req.isReplay() {
		return nil
	}
	n := o.e.shown.Abbreviate(req.Scope, req.Session, notGiven(cs))
	if n == 0 {
		return nil
	}
	return Notes{fmt.Sprintf("repeat: %d items this session was shown lately stand as references; "+
		"repeat \"full\" shows them whole", n)}
}

// entries reads the log; an eventlog.Log does.
type entries interface {
	Entry(ctx context.Context, s scope.Scope, position int64) (eventlog.Entry, error)
}

// warnSuperseded notes how many items existed at the moment that the request is about and were
// recorded again since: the indexes have their last version alone. It counts those that the
// principal may see as they are now.
func (e *Engine) warnSuperseded(ctx context.Context, req Request, auth Authorized) Notes {
	replaced := auth.Pools[0].Replaced()
	if len(replaced) == 0 {
		return nil
	}
	n := 0
	for _, c := range (&visibility{e, req}).decide(ctx, replaced) {
		if e.existedAt(ctx, req, c.First) {
			n++
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return Notes{"as_of: 1 item that was recorded again since is left out: only the last version can be shown"}
	}
	return Notes{fmt.Sprintf("as_of: %d items that were recorded again since are left out: "+
		"only the last versions can be shown", n)}
}

// existedAt reports whether a log entry existed at as_of_time. It may have where the engine
// cannot read the log.
func (e *Engine) existedAt(ctx context.Context, req Request, position int64) bool {
	log, ok := e.cfg.Log.(entries)
	if req.Options.AsOfTime.IsZero() || !ok {
		return true
	}
	entry, err := log.Entry(ctx, req.Scope, position)
	return err != nil || !entry.RecordedAt.After(req.Options.AsOfTime)
}

// asked says which days the question names, and which of them there are not.
func asked(req Request) string {
	var named, out []string
	list, never := language.ReadTimes(req.Query, req.Times.Ranking)
	for _, d := range list {
		named = append(named, d.String())
	}
	if len(named) > 0 {
		out = append(out, "For "+strings.Join(named, "; ")+".")
	}
	if len(never) > 0 {
		out = append(out, "There is no "+strings.Join(never, "; no ")+".")
	}
	return strings.Join(out, " ")
}
