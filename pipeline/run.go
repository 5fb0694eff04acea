package pipeline

import "context"

// Spec has the differences between operations that the stages know of.
type Spec struct {
	Name               string // of the span
	IgnoreSpeakers     bool   // two items that say the same are duplicates whoever said it
	AnyTopic           bool   // no relevance is too low: the operation has floors of its own
	KeepDuplicates     bool   // items that say the same stay: the client named each of them
	List               bool   // items stand for themselves: what says the same stays, and what looks injected is marked
	DropSuspects       bool   // items that look injected are dropped: the output has no fence for them
	TrackRedactions    bool   // authorize notes the texts that redaction took from each item
	Rerank             bool   // the reranker orders the best candidates, where there is one
	ReplaceToolContent bool   // of a tool its signature and safety notes are shown, not its description
	Summarize          bool   // a model writes the TL;DR, where there is one
	End                End
}

// End is where an operation ends.
type End int

// The ends. An operation that shows content to a client ends after the commit.
const (
	AfterCommit End = iota
	AfterRank
	AfterPack
)

// operation has the stages that differ between Context, Search, Build and the others. It serves
// one request and does not change.
type operation interface {
	spec() Spec
	// plan makes the query.
	plan(context.Context, *Recorder, Request, Snapshot) (Plan, error)
	// retrieve finds candidates. Policy has not decided on them: nothing may show them.
	retrieve(context.Context, Request, Plan) (Retrieved, error)
	// rank orders the candidates and drops those that must not be shown.
	rank(context.Context, *Recorder, Request, Plan, Authorized) (Ranked, error)
	// pack chooses among the candidates that are left and makes the text of them.
	pack(context.Context, Request, Plan, Ranked) (Packed, error)
}

// run serves a request. Every error is a *schemas.Error.
func (e *Engine) run(ctx context.Context, op operation, req Request) (Outcome, error) {
	rec := e.newRecorder(req)
	ctx = rec.Start(ctx, op.spec().Name, req)
	defer rec.End()
	out, err := e.stages(ctx, rec, op, req)
	if err != nil {
		refusal := e.refuse(ctx, rec, req, err)
		rec.span.Fail(refusal.Code)
		return Outcome{}, refusal
	}
	e.measures(req.Scope.Tenant()).record(rec, req, out)
	e.logAnswer(ctx, rec, op.spec().Name, req, &out)
	describe(rec.span, &out)
	return out, nil
}

// stages is the only order of the stages that there is. Each takes values and returns a value;
// none changes the request or the value of an earlier stage.
func (e *Engine) stages(ctx context.Context, rec *Recorder, op operation, req Request) (Outcome, error) {
	snap, err := e.await(ctx, rec, req)
	if err != nil {
		return Outcome{}, err
	}
	plan, err := op.plan(ctx, rec, req, snap)
	if err != nil {
		return Outcome{}, err
	}
	auth, err := e.selectCandidates(ctx, rec, op, req, plan) // retrieve, authorize
	if err != nil {
		return Outcome{}, err
	}
	defer e.release(auth.Retrieved)
	ranked, err := op.rank(ctx, rec, req, plan, auth)
	if err != nil || op.spec().End == AfterRank {
		return Outcome{Ranked: ranked}, err
	}
	ranked.Decision = e.decision(req, plan, auth, ranked)
	rec.Join(func() error { _, err := ranked.Decision.Hash.wait(); return err })
	packed, err := e.fill(ctx, rec, op, req, plan, ranked) // pack
	if err != nil || op.spec().End == AfterPack {
		return Outcome{Ranked: ranked, Packed: packed}, err
	}
	report, err := e.account(ctx, rec, req, ranked, packed)
	if err != nil {
		return Outcome{}, err
	}
	exposed, err := e.expose(ctx, rec, req, ranked, packed)
	if err != nil {
		return Outcome{}, err
	}
	return e.commit(ctx, rec, final{req, plan, ranked, packed, report, exposed})
}
