package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// The doors beside Context: search, build, preview, assemble and premortem. Each is a
// turn like any other: policy is pushed down, what was found is sliced and defended,
// and pack, drop report and decisions are in the log before the reply leaves. Only a
// preview, which shows no content, leaves nothing in the log.

// door is what differs from one door to the next.
type door struct {
	name   string
	gather func(ctx context.Context, pushed schemas.Filter) error // finds the candidates
	order  func(cs []candidate.Candidate)                         // scores and sorts what policy left of them
	fill   func(ctx context.Context) error                        // shows some, drops the others
	dry    bool                                                   // nothing leaves but what fill made
	twice  bool                                                   // near-duplicates stay: each was asked for by its id
}

// errand is what a door's turn is about.
type errand struct {
	query       string
	vector      []float32
	limit       int
	budget      int
	model       string
	session     string
	minPosition int64
	issues      []schemas.Issue
}

// enter makes a turn of a door's request.
func (e *Engine) enter(s scope.Scope, in errand) (*turn, error) {
	if err := s.Check(); err != nil {
		return nil, &schemas.Error{Code: schemas.CodePolicyDenied, Message: "the request has no scope"}
	}
	if err := schemas.Invalid(in.issues); err != nil {
		return nil, err
	}
	if err := e.fits(in.vector, "/vector"); err != nil {
		return nil, err
	}
	t := &turn{
		e: e, request: e.cfg.IDs(), started: e.cfg.Clock(), query: in.query, limit: in.limit, budget: in.budget,
		stages: make(map[string]float64, 10), affordances: []schemas.Affordance{},
		req: &schemas.RequestPayload{
			Query: schemas.Query{Text: in.query, Vector: in.vector}, Limit: in.limit, TokenBudget: in.budget,
			Model: in.model, Session: in.session, MinPosition: in.minPosition, Purpose: s.Purpose(),
		},
	}
	t.now = t.started.UTC()
	t.policyNow = t.now
	t.ranking.Reranker = "z-fusion/default"
	t.packed.TLDR.Citations = []string{}
	return t, nil
}

// fits refuses a vector that is not as long as the index's.
func (e *Engine) fits(v []float32, field string) error {
	if len(v) == 0 || e.cfg.Embedder == nil {
		return nil
	}
	if want := e.cfg.Embedder.Model().Dimensions; len(v) != want {
		return &schemas.Error{Code: schemas.CodeValidation, Field: field, Message: fmt.Sprintf("has %d numbers, the index has %d", len(v), want)}
	}
	return nil
}

// pass takes the turn through the door's stages.
func (t *turn) pass(ctx context.Context, s scope.Scope, d door) (schemas.ContextResult, error) {
	ctx, t.span = t.e.cfg.Tracer.Start(ctx, "context."+d.name, trace.WithAttributes(
		attribute.String("satchel.tenant", s.Tenant()), attribute.String("satchel.request", t.request)))
	defer t.span.End()
	defer t.hash.wait()
	res, err := t.through(ctx, s, d)
	if err != nil {
		return schemas.ContextResult{}, t.refuse(ctx, s, err)
	}
	t.e.measures.record(ctx, t)
	return res, nil
}

func (t *turn) through(ctx context.Context, s scope.Scope, d door) (schemas.ContextResult, error) {
	if err := t.await(ctx, s); err != nil {
		return schemas.ContextResult{}, err
	}
	pushed, err := t.push(ctx, s)
	if err != nil {
		return schemas.ContextResult{}, policyDown(ctx, err)
	}
	if pushed.IsNone() {
		t.warnings = append(t.warnings, "policy lets this principal see nothing here")
	}
	stages := []struct {
		name string
		run  func(context.Context) error
	}{
		{"retrieve", func(ctx context.Context) error { return d.gather(ctx, pushed) }},
		{"slice", func(ctx context.Context) error { return t.judge(ctx, s) }},
		{"defend", func(context.Context) error {
			d.order(t.ranking.Candidates)
			t.defend(d.twice)
			return nil
		}},
		{"pack", d.fill},
		{"account", t.account},
		{"isolate", func(ctx context.Context) error { return t.expose(ctx, s) }},
	}
	if d.dry {
		stages = stages[:4]
	}
	for _, st := range stages {
		if err := t.stage(ctx, st.name, st.run); err != nil {
			return schemas.ContextResult{}, err
		}
	}
	if d.dry {
		return schemas.ContextResult{}, nil
	}
	return t.commit(ctx, s)
}

// judge asks the policy about all candidates at once.
func (t *turn) judge(ctx context.Context, s scope.Scope) error {
	if err := t.decide(ctx, s, t.now); err != nil {
		return err
	}
	t.decision.RequestID = t.request
	t.conceal()
	return nil
}

// defend drops what does harm. A template and an assembly have no fence for what looks
// injected, so it is dropped in every mode but off.
func (t *turn) defend(twice bool) {
	cs := t.ranking.Candidates
	apply := t.e.defence.Apply
	if twice {
		apply = t.e.defence.Guard
	}
	t.warnings = append(t.warnings, selection.NotYet(cs, t.now)...)
	t.warnings = append(t.warnings, apply(cs, t.onTopic(), t.now)...)
	for i := range cs {
		if cs[i].Kept() && cs[i].Suspect {
			cs[i].Drop, cs[i].Detail = schemas.DropInjection, "it can't be fenced here"
		}
	}
}

// best sorts candidates by score, best first, ties by id.
func best(cs []candidate.Candidate) {
	slices.SortStableFunc(cs, func(a, b candidate.Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Record.ID, b.Record.ID))
	})
}

// close shows the candidates at the indexes, in this order, and drops the others that
// are kept.
func (t *turn) close(shown []int, why schemas.DropReason) {
	taken := make(map[int]bool, len(shown))
	for _, i := range shown {
		taken[i] = true
	}
	cs := t.ranking.Candidates
	for i := range cs {
		if !taken[i] && cs[i].Kept() {
			cs[i].Drop = why
		}
		if cs[i].Tokens == 0 && cs[i].Drop != schemas.DropPolicy {
			cs[i].Tokens = cmp.Or(cs[i].Record.Tokens, len(cs[i].Record.Content.Text())/4)
		}
	}
	t.packed.Shown = shown
	t.explainEmpty(denials(cs))
}

// sections groups the shown candidates as packs do, by the kind table.
func (t *turn) sections(reason string) {
	t.packed.Sections = nil
	for _, kind := range []schemas.SectionType{schemas.SectionTools, schemas.SectionKnowledge, schemas.SectionMemory} {
		sec := pack.Section{Type: kind, Budget: t.budget, Reason: reason}
		for _, i := range t.packed.Shown {
			c := &t.ranking.Candidates[i]
			if sectionOf(c.Record.Kind) == kind {
				sec.Items = append(sec.Items, i)
				sec.Tokens += c.Tokens
			}
		}
		if len(sec.Items) > 0 {
			t.packed.Sections = append(t.packed.Sections, sec)
		}
	}
}

func sectionOf(k schemas.Kind) schemas.SectionType {
	if info, ok := k.Info(); ok {
		return info.Section
	}
	return schemas.SectionMemory
}

// embedQuery makes the query's vector once for all of the door's searches. Without it
// the search is by keyword; where there is no keyword index either, it is an error.
func (t *turn) embedQuery(ctx context.Context, texts ...string) ([][]float32, error) {
	if t.e.cfg.Vector == nil || t.e.cfg.Embedder == nil {
		return nil, nil
	}
	vectors, err := t.e.cfg.Embedder.Embed(ctx, texts)
	switch {
	case err == nil && len(vectors) == len(texts):
		return vectors, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case t.e.cfg.Keyword == nil:
		return nil, &schemas.Error{Code: schemas.CodeEmbedding, Message: "the query could not be embedded"}
	}
	t.warnings = append(t.warnings, "vector: the query could not be embedded")
	return nil, nil
}

// blind is the Skip of a query that has no vector.
func blind(vector []float32) func(string) bool {
	if len(vector) > 0 {
		return nil
	}
	return func(retriever string) bool { return retriever == selection.NameVector }
}

// failure says what became of a search, in a warning's words.
func failure(err error) string {
	var typed *schemas.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "it was too late and is left out"
	case errors.As(err, &typed) && typed.Code == schemas.CodeDeadlineExceeded:
		return "it was too late and is left out"
	}
	return "it did not answer and is left out"
}

// counters remember the counts of the texts that doors show again and again, by
// tokenizer. The zero value works; it is safe for concurrent use.
type counters struct {
	mu sync.Mutex
	by map[string]token.Counter
}

// remembered is how many texts' counts are kept for each tokenizer.
const remembered = 32 << 10

// counter returns the counter of a model.
func (e *Engine) counter(model string) token.Counter {
	base := e.cfg.Tokens(model)
	e.counters.mu.Lock()
	defer e.counters.mu.Unlock()
	known := e.counters.by[base.Name()]
	if known == nil {
		if e.counters.by == nil {
			e.counters.by = map[string]token.Counter{}
		}
		known = token.Cached(base, remembered)
		e.counters.by[base.Name()] = known
	}
	return known
}
