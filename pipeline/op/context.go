package op

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"satchel/pipeline"
	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/pipeline/model"
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
func (e *Operations) Context(ctx context.Context, s scope.Scope, in schemas.ContextRequest) (schemas.ContextResult, error) {
	out, err := e.answer(ctx, s, &in)
	return out.Result, err
}

// Reply is Context for a caller that wants the result as JSON. Parts that the log and the
// reply share are encoded once.
func (e *Operations) Reply(ctx context.Context, s scope.Scope, in schemas.ContextRequest) (json.RawMessage, error) {
	out, err := e.answer(ctx, s, &in)
	if err != nil {
		return nil, err
	}
	body, err := out.JSON()
	if err != nil {
		return nil, pipeline.Typed(ctx, fmt.Errorf("encode result: %w", err))
	}
	return body, nil
}

func (e *Operations) answer(ctx context.Context, s scope.Scope, in *schemas.ContextRequest) (pipeline.Outcome, error) {
	req, err := e.newContextRequest(s, in)
	if err != nil {
		return pipeline.Outcome{}, err
	}
	out, err := e.Run(ctx, &contextOp{e: e}, req)
	if err == nil {
		e.shown.Add(s, req.Session, out.Ranked.Candidates, out.Packed.Shown, in.Payload.Repeat == schemas.RepeatStable)
		e.compactLater(req, &out)
	}
	return out, err
}

// Rank returns the candidates that a request would choose from, best first: those that policy
// allows and no defense drops, before any budget. It writes nothing to the log, so the caller
// MUST NOT give them to a client. It serves evaluation.
func (e *Operations) Rank(ctx context.Context, s scope.Scope, in schemas.ContextRequest) ([]candidate.Candidate, error) {
	req, err := e.newContextRequest(s, &in)
	if err != nil {
		return nil, err
	}
	all, err := e.Engine.Rank(ctx, &contextOp{e: e}, req)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(c candidate.Candidate) bool { return !c.Kept() }), nil
}

// contextOp makes a context pack.
type contextOp struct {
	e        *Operations
	given    given
	read     []map[string][]string // of each search: by node, the ids of what is given, newest first
	previous []candidate.Version   // of the session's last pack, where this one keeps its order

	unanswered bool // nothing that was found bears on the question
	hardly     bool // the best of knowledge and memory is hardly relevant
	more       int  // candidates that are not shown as they bear on the question less than others, but filling shows
}

func (o *contextOp) Spec() pipeline.Spec {
	return pipeline.Spec{Name: "request", Summarize: o.abstract}
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
func candidateLimit(limits pipeline.Limits) int {
	byBudget := min(max(limits.Tokens/shortItem, minCandidates), maxByBudget)
	most := max(min(limits.Items, maxByLimit), byBudget)
	return min(most, max(leeway*limits.Items, minCandidates))
}

// Plan reads the request's filters, has relevance decide which kinds of items are needed, and
// adds the filter of the policy.
func (o *contextOp) Plan(ctx context.Context, rec *pipeline.Recorder, req pipeline.Request, snap pipeline.Snapshot) (pipeline.Plan, error) {
	p := req.Options
	asked, where, err := filter.Parse("/payload/query/filters", p.Query.Filters, req.Zone())
	if err != nil {
		return pipeline.Plan{}, err
	}
	need, trace, notes, err := o.relevance(ctx, rec, req)
	if err != nil {
		return pipeline.Plan{}, err
	}
	snap.Notes = snap.Notes.With(notes...)
	plan, err := o.e.Plan.Begin(ctx, req, snap)
	if err != nil {
		return pipeline.Plan{}, err
	}
	plan.Relevance = trace
	plan.Narrowing.Filtered = filter.Tells(p.Query.Filters)
	if len(where) > 0 || p.AsOf > 0 && !snap.InFuture || !p.AsOfTime.IsZero() {
		plan.Narrowing.MinMatches = req.Limits.Items
	}
	if kinds := need.Kinds(); len(kinds) < len(schemas.Kinds()) {
		asked = asked.And(ofKinds(kinds))
	}
	o.given = o.e.planGiven(req, need, trace != nil)
	if o.given.tokens > 0 {
		plan.Tokens = min(o.given.tokens, plan.Tokens)
	}
	rec.Gated(need, o.spared())
	if trace != nil {
		where = append(where, func(v *candidate.Visible) bool { return need.Wants(&v.Facets) })
	}
	if p.Repeat == schemas.RepeatStable && p.Session != "" && !isReplay(&req) {
		o.previous = o.e.shown.Last(req.Scope, p.Session)
	}
	plan.Asked = asked
	plan.Query = selection.Query{
		Text: req.Query, Previous: o.previous, Type: p.Query.Type, Vector: req.Vector, Graph: p.Query.Graph, Where: where,
		Skip:          func(retriever string) bool { return !need.NeedsRetriever(retriever) },
		FilterVisible: o.e.Judge.Visibility(req).FilterVisible,
		Now:           req.Times.Ranking, AsOf: p.AsOf, AsOfTime: p.AsOfTime, Profile: p.Profile,
		Override: rank.Override{Weights: p.Weights, Lambda: p.Lambda}, Limit: candidateLimit(req.Limits), Tools: mostTools,
		Cut: passage.Of,
	}
	return plan, nil
}

// relevance decides which items the request needs. A client that does not ask for that needs all.
func (o *contextOp) relevance(
	ctx context.Context, rec *pipeline.Recorder, req pipeline.Request,
) (d relevance.Decision, trace *schemas.RelevanceTrace, notes pipeline.Notes, err error) {
	asked := req.Options.Relevance
	gate := o.e.session.Relevance
	if asked == nil {
		return d, nil, nil, nil
	}
	if gate == nil {
		return d, nil, pipeline.Notes{"relevance: there is no gate, everything is included"}, nil
	}
	turn, err := o.e.measureTurn(ctx, req)
	if err != nil {
		return d, nil, nil, err
	}
	_ = rec.Stage(ctx, "relevance", func(context.Context) error {
		d = gate.Decide(relevance.From(asked).Measured(turn))
		return nil
	})
	why := d.Trace
	for _, w := range why.Warnings {
		notes = append(notes, "relevance: "+w)
	}
	o.e.Admit.Logger.LogAttrs(ctx, slog.LevelInfo, "relevance decided",
		slog.String("request", req.ID), slog.Any("relevance", d))
	return d, &why, notes, nil
}

// Retrieve reads what the request is given, and searches where more than that is wanted.
func (o *contextOp) Retrieve(ctx context.Context, req pipeline.Request, plan pipeline.Plan) (pipeline.Retrieved, error) {
	out, err := o.readGiven(ctx, req, plan)
	if err != nil || !o.given.search {
		return out, err
	}
	found, err := o.e.Find.Ask(ctx, req, plan.Narrow(plan.Asked), plan.Notes)
	found.Named = out.Named
	found.Search = out.Search
	return found, err
}

// Rank leaves the order of the query. It warns of items that were recorded again since the
// moment that the request is about.
func (o *contextOp) Rank(ctx context.Context, rec *pipeline.Recorder, req pipeline.Request, plan pipeline.Plan, auth pipeline.Authorized) (pipeline.Ranked, error) {
	var ranking selection.Ranking
	var err error
	if o.given.search {
		if ranking, err = o.e.Order.Pool(ctx, rec, req, auth, 0); err != nil {
			return pipeline.Ranked{}, err
		}
	}
	ranked := auth.Ranked(ranking)
	if o.given.search {
		ranked.Notes = ranked.Notes.With(o.e.warnSuperseded(ctx, req, auth)...)
	}
	found := len(ranked.Candidates) + len(ranked.Unread)
	ranked.Candidates = o.give(auth, ranked.Candidates)
	ranked = ranked.WithoutRead()
	ranked.Found += len(ranked.Candidates) + len(ranked.Unread) - found
	ranked, err = o.e.Order.Defend(ctx, rec, o.Spec(), req, plan, ranked)
	if req.Query != "" && !plan.Narrowing.IsSet() {
		o.unanswered, o.hardly = nothingAnswers(ranked.Candidates), hardlyAnswered(ranked.Candidates)
	}
	if err == nil {
		ranked, err = o.e.Order.Rerank(ctx, rec, req, ranked)
	}
	if err == nil {
		pack.ReplaceToolContent(ranked.Candidates)
	}
	dropBelow(ranked.Candidates, req.Limits.MinScore)
	keepGiven(ranked.Candidates)
	if o.hardly {
		ranked.Notes = ranked.Notes.With("relevance: what was found is hardly relevant")
	}
	if !fills(req) {
		o.more = dropBeside(ranked.Candidates)
		if o.doubtful(&ranked) {
			o.more += keepFew(ranked.Candidates)
		}
	}
	return ranked, err
}

// Pack builds the pack, the affordances and the causal graph. It abbreviates items that the
// session was shown lately.
func (o *contextOp) Pack(ctx context.Context, req pipeline.Request, plan pipeline.Plan, ranked pipeline.Ranked) (pipeline.Packed, error) {
	e := o.e
	cs := ranked.Candidates
	req.Limits.Tokens = plan.Tokens
	out := pipeline.Packed{Notes: ranked.Notes.With(o.abbreviate(req, cs)...)}
	budget := req.Limits.Tokens
	in := pack.Request{
		Unmentioned: ranked.Unmentioned, Unanswered: o.unanswered, Doubtful: o.doubtful(&ranked),
		UserMessage: req.Options.UserMessage, Task: req.Options.Task, Query: req.Query, Purpose: req.Scope.Purpose(),
		Budget: budget, Limit: req.Limits.Items, Bytes: req.Limits.Bytes, Counter: e.Admit.Tokens(req.Model),
		Farther: e.packEnd(req), More: o.more, Days: asked(req), Zone: req.Zone(), Denied: ranked.Denials(req.Scope), Before: selection.SessionPlaces(o.previous, cs),
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
		if req.Limits.Items >= e.Admit.Slice.Named() {
			hint = "more are not given here"
		}
		out.Notes = out.Notes.With(fmt.Sprintf("budget: %d items are the limit and take %d of %d tokens: %s", req.Limits.Items, out.Tokens, budget, hint))
	}
	out.Affordances = e.text.Rules.Afford(cs, out.Shown, in.Doubtful || o.unanswered)
	var err error
	out.Causal, out.Notes, err = e.causal(ctx, req, ranked, out)
	return out, err
}

// doubtful reports whether what is shown hardly answers the question.
func (o *contextOp) doubtful(r *pipeline.Ranked) bool { return o.hardly || lacksName(r) }

// abbreviate shortens items that the session was shown lately, unless the client wants them whole
// or asks for a replay.
func (o *contextOp) abbreviate(req pipeline.Request, cs []candidate.Candidate) pipeline.Notes {
	if req.Options.Repeat != "" || isReplay(&req) {
		return nil
	}
	n := o.e.shown.Abbreviate(req.Scope, req.Session, notGiven(cs))
	if n == 0 {
		return nil
	}
	return pipeline.Notes{fmt.Sprintf("repeat: %d items this session was shown lately stand as references; "+
		"repeat \"full\" shows them whole", n)}
}

// entries reads the log; an eventlog.Log does.
type entries interface {
	Entry(ctx context.Context, s scope.Scope, position int64) (eventlog.Entry, error)
}

// warnSuperseded notes how many items existed at the moment that the request is about and were
// recorded again since: the indexes have their last version alone. It counts those that the
// principal may see as they are now.
func (e *Operations) warnSuperseded(ctx context.Context, req pipeline.Request, auth pipeline.Authorized) pipeline.Notes {
	replaced := auth.Pools[0].Replaced()
	if len(replaced) == 0 {
		return nil
	}
	n := 0
	for _, c := range e.Judge.Visibility(req).Decide(ctx, replaced) {
		if e.existedAt(ctx, req, c.First) {
			n++
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return pipeline.Notes{"as_of: 1 item that was recorded again since is left out: only the last version can be shown"}
	}
	return pipeline.Notes{fmt.Sprintf("as_of: %d items that were recorded again since are left out: "+
		"only the last versions can be shown", n)}
}

// existedAt reports whether a log entry existed at as_of_time. It may have where the engine
// cannot read the log.
func (e *Operations) existedAt(ctx context.Context, req pipeline.Request, position int64) bool {
	log, ok := e.Find.Log.(entries)
	if req.Options.AsOfTime.IsZero() || !ok {
		return true
	}
	entry, err := log.Entry(ctx, req.Scope, position)
	return err != nil || !entry.RecordedAt.After(req.Options.AsOfTime)
}

// asked says which days the question names, and which of them there are not.
func asked(req pipeline.Request) string {
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

// abstract has a model write the TL;DR, where there is one. When that fails, the extractive
// TL;DR stays, with a note.
func (o *contextOp) abstract(ctx context.Context, req pipeline.Request, ranked pipeline.Ranked, packed pipeline.Packed) (pipeline.Packed, error) {
	if o.e.text.Summarizer == nil || len(packed.Shown) == 0 || o.doubtful(&ranked) {
		return packed, nil
	}
	tldr, err := o.e.text.Summarizer.Summarize(ctx, req.Query, ranked.Candidates, packed.Shown)
	switch {
	case err == nil:
		packed.TLDR = tldr
	case ctx.Err() != nil:
		return pipeline.Packed{}, ctx.Err()
	case errors.Is(err, pack.ErrCitation):
		packed.Notes = packed.Notes.With("tldr: the model's summary did not hold against what it cites; it is extractive")
	case errors.Is(err, model.ErrRefused):
		packed.Notes = packed.Notes.With("tldr: the model refused; it is extractive")
	default:
		packed.Notes = packed.Notes.With("tldr: the model gave no answer; it is extractive")
	}
	return packed, nil
}

// newContextRequest makes the request of a ContextRequest. Limits above the engine's are cut, with
// a note.
func (e *Operations) newContextRequest(s scope.Scope, in *schemas.ContextRequest) (pipeline.Request, error) {
	p := &in.Payload
	r, err := e.Admit.Request(s, pipeline.Request{
		ID: in.Meta.ID, Query: cmp.Or(p.Query.Text, p.UserMessage), Vector: p.Query.Vector,
		Session: p.Session, Model: p.Model, TZ: p.TZ, Options: p,
	}, in.Validate(), "/payload/query/vector")
	switch {
	case err != nil:
		return pipeline.Request{}, err
	case p.Tenant != "" && p.Tenant != s.Tenant():
		return pipeline.Request{}, pipeline.Invalid("/payload/tenant", "is not the tenant of the scope")
	case p.IncludeProofs && e.Commit.Prover == nil:
		return pipeline.Request{}, pipeline.Invalid("/payload/include_proofs", "this engine has no prover")
	}
	if !p.Now.IsZero() {
		r.Times.Ranking = p.Now.In(r.Zone())
	}
	if !eventlog.Storable(r.Times.Ranking) {
		return pipeline.Request{}, pipeline.Invalid("/payload/now", "must be within "+eventlog.StorableYears)
	}
	if r.Times.Ranking.After(r.Times.Policy) {
		r.Times.Policy = r.Times.Ranking
	}
	r.Limits, r.Notes = e.Admit.Slice.Bound(pipeline.Limits{
		Items: p.Limit, Tokens: cmp.Or(max(p.TokenBudget, 0), schemas.DefaultTokenBudget), Bytes: p.MaxBytes, MinScore: cmp.Or(p.MinScore, e.Admit.MinScore),
	}, r.Notes)
	return r, nil
}
