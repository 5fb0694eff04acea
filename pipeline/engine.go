package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction"
	"satchel/pipeline/isolation"
	"satchel/pipeline/pack"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// turn is one request on its way.
type turn struct {
	e         *Engine
	req       *schemas.RequestPayload
	request   string // its id
	started   time.Time
	now       time.Time // what ranking takes for now
	policyNow time.Time // what policy takes for now: never before the clock
	asOf      int64
	query     string
	limit     int
	budget    int // tokens
	bytes     int
	minScore  float64
	stages    map[string]float64
	span      trace.Span

	trace       *schemas.RelevanceTrace
	ranking     selection.Ranking
	pushed      []schemas.Cond      // of the policy's filter
	enough      int                 // items that are to pass what the asker narrows, 0 without
	filtered    bool                // the asker filters: see conceal
	known       *schemas.Filter     // what the asker may know of; nil: whatever is found
	readings    []selection.Reading // what the filters look at
	masked      map[string]bool     // by id: it is shown with another value of that
	reached     map[string]bool     // ids that links reach: filters are not about them
	early       bool                // as_of is beyond what is recorded
	decision    schemas.PolicyDecision
	hash        inputHash // of decision, which has it once it is logged
	warnings    []string
	packed      pack.Pack
	exposed     []isolation.Exposed
	affordances []schemas.Affordance
	causal      *schemas.CausalGraph
	drop        schemas.DropReport
	audit       schemas.DropReport
	filters     map[string]string
	parts       *parts
	last        []selection.Version // the session's last pack, where this one keeps to it
	tool        string              // the item that a tool has just put out, shown as an extract
	compacted   bool                // extracts may stand for items
	hidden      map[string][]string // by item, what redaction took away
	summaries   []compaction.Summary
	kept        []eventlog.Draft // of the summaries
	keptAt      []int64          // where they stand in the log, 0 for one that is gone
}

// Context answers a request. The scope says who asks; what the request claims about
// the asker is not looked at. Every error is a *schemas.Error.
func (e *Engine) Context(ctx context.Context, s scope.Scope, req schemas.ContextRequest) (schemas.ContextResult, error) {
	res, _, err := e.answer(ctx, s, req)
	return res, err
}

// Reply is Context for a caller that wants the result as JSON. It encodes only once
// what the log and the reply both have.
func (e *Engine) Reply(ctx context.Context, s scope.Scope, req schemas.ContextRequest) (json.RawMessage, error) {
	res, parts, err := e.answer(ctx, s, req)
	if err != nil {
		return nil, err
	}
	body, err := parts.encode(&res)
	if err != nil {
		return nil, typed(ctx, fmt.Errorf("encode result: %w", err))
	}
	return body, nil
}

func (e *Engine) answer(ctx context.Context, s scope.Scope, req schemas.ContextRequest) (schemas.ContextResult, *parts, error) {
	t, err := e.begin(s, &req)
	if err != nil {
		return schemas.ContextResult{}, nil, typed(ctx, err)
	}
	ctx, t.span = e.cfg.Tracer.Start(ctx, "context.request", trace.WithAttributes(
		attribute.String("satchel.tenant", s.Tenant()), attribute.String("satchel.request", t.request)))
	defer t.span.End()
	defer t.hash.wait()
	res, err := t.run(ctx, s)
	if err != nil {
		return schemas.ContextResult{}, nil, t.refuse(ctx, s, err)
	}
	e.measures.record(ctx, t)
	return res, t.parts, nil
}

// Rank returns what a request would choose from, best first: the candidates that
// policy allows and that are neither stale nor repeated, before any budget. Nothing
// is logged, so nothing of it may be given to a caller; it serves evaluation.
func (e *Engine) Rank(ctx context.Context, s scope.Scope, req schemas.ContextRequest) ([]candidate.Candidate, error) {
	t, err := e.begin(s, &req)
	if err != nil {
		return nil, typed(ctx, err)
	}
	defer t.hash.wait()
	if err := t.choose(ctx, s); err != nil {
		return nil, typed(ctx, err)
	}
	kept := t.ranking.Candidates[:0]
	for _, c := range t.ranking.Candidates {
		if c.Kept() {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// Learn reads what new items say, so that the first request that finds them need not. It
// changes no result.
func (e *Engine) Learn(s scope.Scope, records []schemas.Record) {
	if s.Check() != nil {
		return
	}
	e.selector.Learn(s.Tenant(), records)
	e.defence.Learn(records)
}

// Forget drops what the engine keeps of items in memory. Call it after an erasure.
func (e *Engine) Forget() {
	e.selector.Forget()
	e.defence.Forget()
}

func (e *Engine) begin(s scope.Scope, req *schemas.ContextRequest) (*turn, error) {
	if err := s.Check(); err != nil {
		return nil, &schemas.Error{Code: schemas.CodePolicyDenied, Message: "the request has no scope"}
	}
	if err := schemas.Invalid(req.Validate()); err != nil {
		return nil, err
	}
	p := &req.Payload
	if err := e.fits(p.Query.Vector, "/payload/query/vector"); err != nil {
		return nil, err
	}
	if p.Tenant != "" && p.Tenant != s.Tenant() {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/payload/tenant", Message: "is not the tenant of the scope"}
	}
	if p.IncludeProofs && e.cfg.Prover == nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/payload/include_proofs", Message: "this engine has no prover"}
	}
	t := &turn{
		e: e, req: p, request: req.Meta.ID, started: e.cfg.Clock(), now: p.Now, query: p.Query.Text,
		limit: p.Limit, budget: p.TokenBudget, stages: make(map[string]float64, 10), filters: filterNames(p.Query.Filters),
	}
	if t.request == "" {
		t.request = e.cfg.IDs()
	}
	if t.now.IsZero() {
		t.now = t.started
	}
	if t.now = t.now.UTC(); !eventlog.Storable(t.now) {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/payload/now", Message: "must be within " + eventlog.StorableYears}
	}
	// Replaying a past moment shows nothing that has expired since.
	if t.policyNow = t.started.UTC(); t.now.After(t.policyNow) {
		t.policyNow = t.now
	}
	if t.query == "" {
		t.query = p.UserMessage
	}
	if t.budget <= 0 {
		t.budget = defaultBudget
	}
	t.minScore = cmp.Or(p.MinScore, e.cfg.MinScore)
	most := &e.cfg.Slice
	t.limit = t.within("limit", cmp.Or(t.limit, most.Items), most.Items)
	t.budget = t.within("token_budget", t.budget, most.Tokens)
	t.bytes = t.within("max_bytes", cmp.Or(p.MaxBytes, most.Bytes), most.Bytes)
	return t, nil
}

// within cuts what a request asks for to what it is given at most.
func (t *turn) within(field string, asked, most int) int {
	if asked > most {
		t.warnings = append(t.warnings, fmt.Sprintf("budget: %s %d is cut to %d, the most that is given here", field, asked, most))
		return most
	}
	return asked
}

// run takes the turn through all stages.
func (t *turn) run(ctx context.Context, s scope.Scope) (schemas.ContextResult, error) {
	if err := t.choose(ctx, s); err != nil {
		return schemas.ContextResult{}, err
	}
	t.refer(s)
	for _, st := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"pack", func(ctx context.Context) error { return t.fill(ctx, s) }},
		{"summarize", t.abstract},
		{"account", t.account},
		{"isolate", func(ctx context.Context) error { return t.expose(ctx, s) }},
	} {
		if err := t.stage(ctx, st.name, st.run); err != nil {
			return schemas.ContextResult{}, err
		}
	}
	res, err := t.commit(ctx, s)
	if err == nil {
		t.e.shown.Add(s, t.req.Session, t.ranking.Candidates, t.packed.Shown, t.req.Repeat == schemas.RepeatStable)
	}
	return res, err
}

// refer shortens what the session was shown lately, unless the request wants it whole
// or is a replay.
func (t *turn) refer(s scope.Scope) {
	if t.req.Repeat != "" || t.replays() {
		return
	}
	if n := t.e.shown.Refer(s, t.req.Session, t.ranking.Candidates); n > 0 {
		t.warnings = append(t.warnings, fmt.Sprintf("repeat: %d items this session was shown lately stand as references; repeat \"full\" shows them whole", n))
	}
}

// replays reports whether the turn asks about a past moment, of which the worker remembers
// no session.
func (t *turn) replays() bool {
	return t.req.AsOf > 0 || !t.req.AsOfTime.IsZero() || !t.req.Now.IsZero()
}

// choose is everything before the budget: wait, relevance, selection, slice, defend.
func (t *turn) choose(ctx context.Context, s scope.Scope) error {
	if err := t.await(ctx, s); err != nil {
		return err
	}
	q, err := t.plan(ctx, s)
	if err != nil {
		return err
	}
	q.Vouch, q.Hides = t.vouch(s), t.hides(s)
	if q.Hides != nil {
		q.Depth = q.Limit // what is read and not decided on would show in scores
	}
	said := len(t.warnings)
	if err := t.search(ctx, s, q); err != nil {
		return err
	}
	if all := t.widest(); q.Limit < all && t.starved(q.Limit) {
		q.Limit, t.warnings = all, t.warnings[:said]
		if err := t.search(ctx, s, q); err != nil {
			return err
		}
	}
	t.sayReplaced(ctx, s, q)
	t.conceal()
	cs := t.ranking.Candidates
	if err := t.stage(ctx, "defend", func(context.Context) error {
		t.warnings = append(t.warnings, selection.NotYet(cs, t.now)...)
		t.warnings = append(t.warnings, t.e.defence.Apply(cs, t.onTopic(), t.policyNow)...)
		return nil
	}); err != nil {
		return err
	}
	if t.e.cfg.Reranker != nil {
		if err := t.stage(ctx, "rerank", t.rerank); err != nil {
			return err
		}
	}
	selection.Sign(cs)
	t.belowMinimum(cs)
	return nil
}

// search ranks the candidates and has policy decide on each.
func (t *turn) search(ctx context.Context, s scope.Scope, q selection.Query) error {
	err := t.stage(ctx, "retrieve", func(ctx context.Context) (err error) {
		t.ranking, err = t.e.selector.Rank(ctx, s, q)
		return err
	})
	if err != nil {
		return err
	}
	t.stages["fuse"] += milliseconds(t.ranking.Times.Fuse)
	t.warnings = append(t.warnings, t.ranking.Warnings...)
	err = t.stage(ctx, "slice", func(ctx context.Context) error { return t.decide(ctx, s, t.policyNow) })
	if err != nil {
		return err
	}
	t.decision.RequestID, t.decision.Pushdown = t.request, t.pushed
	return nil
}

// decide has policy decide on every candidate, and on what was hidden from the ranking, too:
// the log has all verdicts.
func (t *turn) decide(ctx context.Context, s scope.Scope, now time.Time) error {
	for _, c := range t.ranking.Hidden {
		if !t.reached[c.Record.ID] { // else it is there already
			t.ranking.Candidates = append(t.ranking.Candidates, c)
		}
	}
	cs := t.ranking.Candidates
	whole := t.look(cs)
	var err error
	if t.decision, err = selection.Slice(ctx, s, t.asking(heard{warnings: &t.warnings, hash: &t.hash}), t.e.cfg.Sanitizer, now, t.e.cfg.IDs(), cs); err != nil {
		t.ranking.Candidates = nil
		return policyDown(ctx, err)
	}
	if len(t.readings) > 0 {
		t.masked = map[string]bool{}
		for i, shown := range t.look(cs) {
			t.masked[cs[i].Record.ID] = !reflect.DeepEqual(whole[i], shown)
		}
	}
	return nil
}

// starved reports whether policy keeps back so many of n candidates that fewer are left
// than may be shown, though there may be more of them.
func (t *turn) starved(n int) bool {
	cs, left := t.ranking.Candidates, 0
	for i := range cs {
		if cs[i].Drop != schemas.DropPolicy {
			left++
		}
	}
	return len(cs) >= n && left < t.limit && t.enough == 0 && !t.filtered
}

// belowMinimum drops what scores less than the request wants.
func (t *turn) belowMinimum(cs []candidate.Candidate) {
	if t.minScore <= 0 {
		return
	}
	for i := range cs {
		if cs[i].Kept() && cs[i].Score < t.minScore {
			cs[i].Drop = schemas.DropScore
		}
	}
}

// fill builds the pack, the affordances and the causal graph.
func (t *turn) fill(ctx context.Context, s scope.Scope) error {
	cs := t.ranking.Candidates
	denied := denials(cs)
	t.packed = t.build(pack.Request{
		UserMessage: t.req.UserMessage, Task: t.req.Task, Query: t.query, Purpose: s.Purpose(),
		Budget: t.budget, Limit: t.limit, Bytes: t.bytes, Counter: t.e.cfg.Tokens(t.req.Model), Denied: denied, Before: selection.Places(t.last, cs),
	}, cs)
	t.affordances = t.e.rules.Afford(cs, t.packed.Shown)
	t.explainEmpty(denied)
	return t.graph(ctx, s)
}

// denials counts what policy keeps back, by reason.
func denials(cs []candidate.Candidate) map[string]int {
	denied := map[string]int{}
	for i := range cs {
		if cs[i].Drop == schemas.DropPolicy {
			denied[cs[i].Denial()]++
		}
	}
	return denied
}

// ids returns the shown items in the order of their references.
func (t *turn) ids() []string {
	ids := make([]string, len(t.packed.Shown))
	for i, at := range t.packed.Shown {
		ids[i] = t.ranking.Candidates[at].Record.ID
	}
	return ids
}

// account makes the drop reports and holds them against the candidates.
func (t *turn) account(ctx context.Context) error {
	cs := t.ranking.Candidates
	t.drop, t.audit = compaction.Report(t.e.cfg.IDs(), t.e.cfg.IDs(), t.now, cs)
	if err := compaction.Verify(cs, t.packed.Shown, &t.drop); err != nil {
		return fmt.Errorf("verify pack: %w", err)
	}
	return t.verify(ctx)
}

// expose builds what leaves.
func (t *turn) expose(_ context.Context, s scope.Scope) error {
	o := isolation.Options{Scores: t.req.IncludeScores, Reranker: t.ranking.Reranker, Filters: t.filters}
	t.exposed = make([]isolation.Exposed, len(t.packed.Shown))
	for i, at := range t.packed.Shown {
		c := &t.ranking.Candidates[at]
		x, err := isolation.Expose(c, o)
		if err != nil {
			return fmt.Errorf("isolate pack: %w", err)
		}
		if t.e.cfg.Handles != nil {
			if x.Result.Metadata.Artifact, err = isolation.Sandbox(c, s, t.e.cfg.Handles); err != nil {
				return fmt.Errorf("isolate pack: %w", err)
			}
		}
		t.exposed[i] = x
	}
	return nil
}
