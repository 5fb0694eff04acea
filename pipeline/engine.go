// Package pipeline is the engine: it takes a request through the stages and commits the outcome to
// the log before anything leaves.
//
// Every request takes the way of [Engine.Run], whatever it asks for. Each stage takes values and
// returns a value, has the parts that it needs and no others, and has a file:
//
//	stage    file        value       promise
//	Admit    request.go  Request     the request is valid and has its times
//	Await    await.go    Snapshot    the indexes have applied min_position
//	Plan     plan.go     Plan        nothing is looked for that policy leaves out beforehand
//	Find     find.go     Retrieved   candidates; nothing may show them yet
//	Judge    judge.go    Authorized  every candidate has a verdict; denied ones are dropped, redacted ones are changed
//	Order    order.go    Ranked      the final order; harmful items are dropped, with the reason
//	         pack.go     Packed      a text within the limits, and why it is empty where it is
//	Account  account.go  Report      shown, dropped and denied items add up to the candidates, or nothing leaves
//	Expose   expose.go   []Exposed   only fields of a list leave
//	Commit   commit.go   Outcome     the log has the pack, the drop report and the decision
//	Refuse   refuse.go               an error without content; the log has the refusal
//
// Package op has the operations. An [Operation] says what is looked for, in which order it comes and
// what text is made of it; it calls the stages for that. Its [Spec] has the other differences that
// stages know of.
//
// The package promises:
//
//   - No log commit, no reply. The pack, the drop report and the decisions of a request
//     are one Append: context.packed, context.dropped, policy.decided.
//   - No verdict, no item. A policy that cannot answer ends the request with a typed
//     error and a request.refused entry; nothing of any item leaves. A policy that
//     denies everything gives the minimal pack: the user and policy sections.
//   - The log's data holds ids, scores, verdicts and hashes, never content, query or
//     message. The result as the client saw it is the attachment of context.packed, which an
//     erasure of one of its items takes away.
//   - The same stores, request, now and as_of give the same text.
//
// Errors are [*schemas.Error]. An Engine is safe for concurrent use. It starts no goroutine that
// outlives a call.
package pipeline

import (
	"context"
	"errors"
	"fmt"

	"satchel/pipeline/candidate"
	"satchel/pipeline/meter"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/selection/defend"
	"satchel/schemas"
)

// Engine has the stages; operations call the exported ones. It is safe for concurrent use.
type Engine struct {
	Admit   Admitting
	Await   Awaiting
	Plan    Planning
	Find    Finding
	Judge   Judging
	Order   Ordering
	account accounting
	expose  exposing
	Commit  Committing
	refuse  refusing
	watch   watching // beside all of them
}

// New gives each stage its parts.
func New(cfg Config) (*Engine, error) {
	switch {
	case cfg.Log == nil:
		return nil, errors.New("new engine: no log")
	case cfg.Items == nil:
		return nil, errors.New("new engine: no items store")
	case cfg.PDP == nil:
		return nil, errors.New("new engine: no policy decision point")
	}
	cfg.fill()
	errs := make([]error, 2)
	e := &Engine{
		Admit:  Admitting{Process: cfg.Process, Bounds: cfg.Bounds, Models: cfg.Models},
		Await:  Awaiting{cfg.Stores, cfg.Wait},
		Find:   Finding{Stores: cfg.Stores, embedder: cfg.Embedder},
		Commit: Committing{cfg.Proofs, cfg.Log, cfg.Models, cfg.IDs},
		expose: exposing{cfg.Handles},
		refuse: refusing{cfg.Log, cfg.Process},
		watch:  watching{cfg.Process, meter.ByTenant(cfg.Meter, newMeasures)},
	}
	e.Find.Selector, errs[0] = selection.New(selection.Config{
		Items: cfg.Items, Keyword: cfg.Keyword, Vector: cfg.Vector, Graph: cfg.Graph, Private: cfg.Private, Embedder: cfg.Embedder, Encoder: cfg.Encoder, Encoded: cfg.Encoded,
		Weights: cfg.Weights, Disable: cfg.Disable, Profiles: cfg.Profiles,
		Standard: cfg.Standard, Tenants: cfg.Tenants, Clock: cfg.Clock, Deadline: cfg.Retrieval,
	})
	e.Order.Defenses, errs[1] = defend.New(cfg.Defend)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("new engine: %w", err)
	}
	e.Order.selector = e.Find.Selector
	e.Order.models = cfg.Models
	e.Judge = Judging{cfg.Policy, cfg.Items, cfg.IDs, e.Find.Selector, e.Order.Defenses}
	e.Plan.judge = &e.Judge
	e.account = accounting{cfg.IDs, cfg.Logger, e.Admit.Counter}
	return e, nil
}

// Spec has the differences between operations that the stages know of.
type Spec struct {
	Name            string // of the span
	CreatesItems    bool   // summaries; its span is named for that
	IgnoreSpeakers  bool   // two items that say the same are duplicates whoever said it
	AnyTopic        bool   // no relevance is too low: the operation has floors of its own
	KeepDuplicates  bool   // items that say the same stay: the client named each of them
	List            bool   // items stand for themselves: what says the same stays, and what looks injected is marked
	DropSuspects    bool   // items that look injected are dropped: the output has no fence for them
	TrackRedactions bool   // Judge notes the texts that redaction took from each item
	// Summarize is a stage behind Pack: a model writes the TL;DR. Nil: there is no such stage.
	Summarize func(context.Context, Request, Ranked, Packed) (Packed, error)
	End       End
}

// End is where an operation ends.
type End int

// The ends. An operation that shows content to a client ends after the commit.
const (
	AfterCommit End = iota
	AfterPack
	afterRank
)

// Operation has the stages that differ between Context, Search, Build and the others. A value serves
// one request: what it alone knows from one stage to the next it keeps in fields of its own.
type Operation interface {
	Spec() Spec
	// Plan makes the query.
	Plan(context.Context, *Recorder, Request, Snapshot) (Plan, error)
	// Retrieve finds candidates. Policy has not decided on them: nothing may show them. It is called
	// again for a search of the same request, without what policy denies or over more.
	Retrieve(context.Context, Request, Plan) (Retrieved, error)
	// Rank orders the candidates and drops those that must not be shown.
	Rank(context.Context, *Recorder, Request, Plan, Authorized) (Ranked, error)
	// Pack chooses among the candidates that are left and makes the text of them.
	Pack(context.Context, Request, Plan, Ranked) (Packed, error)
}

// Run serves a request. Every error is a *schemas.Error.
func (e *Engine) Run(ctx context.Context, op Operation, req Request) (Outcome, error) {
	spec := op.Spec()
	rec := e.watch.recorder(req)
	ctx = rec.start(ctx, spec, req)
	defer rec.end()
	out, err := e.stages(ctx, rec, op, req, spec.End)
	if err != nil {
		refusal := e.refuse.entry(ctx, rec, req, err)
		rec.span.Fail(refusal.Code)
		return Outcome{}, refusal
	}
	rec.measures().record(rec, req, out)
	rec.logAnswer(ctx, spec.Name, req, &out)
	describe(rec.span, &out)
	return out, nil
}

// Rank takes a request as far as its order. It leaves no entry in the log and no span, so the caller
// MUST NOT give the candidates to a client.
func (e *Engine) Rank(ctx context.Context, op Operation, req Request) ([]candidate.Candidate, error) {
	rec := e.watch.recorder(req)
	defer rec.end()
	out, err := e.stages(ctx, rec, op, req, afterRank)
	if err != nil {
		return nil, Typed(ctx, err)
	}
	return out.Ranked.Candidates, nil
}

// stages is the only order of the stages that there is. Each takes values and returns a value;
// none changes the request or the value of an earlier stage.
func (e *Engine) stages(ctx context.Context, rec *Recorder, op Operation, req Request, end End) (Outcome, error) {
	snap, err := e.Await.snapshot(ctx, rec, req)
	if err != nil {
		return Outcome{}, err
	}
	plan, err := op.Plan(ctx, rec, req, snap)
	if err != nil {
		return Outcome{}, err
	}
	auth, err := e.Judge.candidates(ctx, rec, op, req, plan) // op.Retrieve and Judge, until enough is found
	if err != nil {
		return Outcome{}, err
	}
	defer auth.release(e.Find.Selector)
	ranked, err := op.Rank(ctx, rec, req, plan, auth)
	if err != nil || end == afterRank {
		return Outcome{Ranked: ranked}, err
	}
	ranked.Decision = auth.decision(req, plan, ranked)
	rec.join(func() error { _, err := ranked.Decision.hash.wait(); return err })
	packed, err := makeText(ctx, rec, op, req, plan, ranked)
	if err != nil || end == AfterPack {
		return Outcome{Ranked: ranked, Packed: packed}, err
	}
	report, err := e.account.report(ctx, rec, req, ranked, packed)
	if err != nil {
		return Outcome{}, err
	}
	exposed, err := e.expose.fields(ctx, rec, req, ranked, packed)
	if err != nil {
		return Outcome{}, err
	}
	return e.Commit.entries(ctx, rec, final{req, plan, ranked, packed, report, exposed})
}

// Warm reads new items, so that the first request that finds them need not. It changes no
// result.
func (e *Engine) Warm(s scope.Scope, records []schemas.Record) {
	if s.Check() != nil {
		return
	}
	items := make([]*candidate.Visible, len(records))
	for i := range records {
		v := candidate.NewVisible(&records[i], false)
		items[i] = &v
	}
	e.Find.Selector.Warm(s.Tenant(), items)
	e.Order.Defenses.Warm(items)
}

// InvalidateCaches drops the engine's copies of items in memory. Call it after an erasure.
func (e *Engine) InvalidateCaches() {
	e.Find.Selector.InvalidateCaches()
	e.Order.Defenses.InvalidateCaches()
}
