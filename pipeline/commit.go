package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/goccy/go-json"
	"go.opentelemetry.io/otel/trace"

	"satchel/pipeline/aside"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// commit writes the pack, the drop report and the decisions to the log and returns
// the result with their positions. The attachment is the result as it leaves, except
// for what is known only afterwards: result_sha256, positions and proof.
func (t *turn) commit(ctx context.Context, s scope.Scope) (schemas.ContextResult, error) {
	var res schemas.ContextResult
	var batch eventlog.Batch
	if err := t.stage(ctx, "encode", func(ctx context.Context) error {
		var err error
		if res, err = t.result(ctx, s); err != nil {
			return err
		}
		batch, err = t.batch(s, &res)
		return err
	}); err != nil {
		return schemas.ContextResult{}, err
	}
	var outcomes []eventlog.Outcome
	if err := t.stage(ctx, "log", func(ctx context.Context) error {
		var err error
		outcomes, err = t.e.cfg.Log.Append(ctx, batch)
		return t.logged(ctx, outcomes, len(batch.Drafts), err)
	}); err != nil {
		return schemas.ContextResult{}, err
	}
	t.positions(outcomes)
	p := &res.Payload
	p.Positions = schemas.Positions{Pack: outcomes[0].Position, Drop: outcomes[1].Position, Decision: outcomes[2].Position}
	if t.req.IncludeProofs {
		if err := t.stage(ctx, "prove", func(ctx context.Context) error {
			var err error
			p.Proof, err = t.prove(ctx, s, p.Positions.Pack)
			return err
		}); err != nil {
			return schemas.ContextResult{}, unstored(ctx, "the pack could not be proved")
		}
	}
	t.clock(p)
	return res, nil
}

// logged checks that every draft of the batch is a new entry.
func (t *turn) logged(ctx context.Context, outcomes []eventlog.Outcome, want int, err error) error {
	if err == nil && len(outcomes) == want {
		for i, o := range outcomes {
			if o.Status != eventlog.Appended && i < want-len(t.kept) {
				err = fmt.Errorf("append: an id was used before")
			}
		}
	}
	if err != nil || len(outcomes) != want {
		return unstored(ctx, "the pack could not be logged, so it does not leave")
	}
	return nil
}

// unstored is what a request fails with that the log did not serve: in time, or at all.
func unstored(ctx context.Context, message string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return &schemas.Error{Code: schemas.CodeStorage, Message: message}
}

// prove returns the signed head and the proof that it covers position.
func (t *turn) prove(ctx context.Context, s scope.Scope, position int64) (*schemas.PackProof, error) {
	head, err := t.e.cfg.Prover.SignedHead(ctx, s)
	if err != nil {
		return nil, err
	}
	inclusion, err := t.e.cfg.Prover.ProveInclusion(ctx, s, position, head.Size)
	if err != nil {
		return nil, err
	}
	return &schemas.PackProof{Checkpoint: head.Checkpoint, Inclusion: inclusion}, nil
}

// clock writes the timings.
func (t *turn) clock(p *schemas.ResultPayload) {
	total := milliseconds(t.e.cfg.Clock().Sub(t.started))
	p.QueryDurationMS = total
	p.Explainability.Timings = schemas.Timings{
		RetrievalMS: t.stages["retrieve"], SlicingMS: t.stages["slice"], SummarizationMS: t.stages["pack"] + t.stages["summarize"],
		TotalMS: total, Stages: t.stages,
	}
}

// result builds the reply without positions and proof.
func (t *turn) result(ctx context.Context, s scope.Scope) (schemas.ContextResult, error) {
	refs, err := t.provenance(ctx, s)
	if err != nil {
		return schemas.ContextResult{}, err
	}
	results := make([]schemas.ResultItem, len(t.exposed))
	bytes := 0
	for i := range t.exposed {
		results[i] = t.exposed[i].Result
		bytes += results[i].Metadata.ByteSize
	}
	redacted, budget, denied := 0, 0, 0
	for i := range t.ranking.Candidates {
		c := &t.ranking.Candidates[i]
		switch {
		case c.Drop == schemas.DropBudget:
			budget++
		case c.Drop == schemas.DropPolicy:
			denied++
		case c.Kept() && c.Verdict.Redact:
			redacted++
		}
	}
	if t.warnings == nil {
		t.warnings = []string{}
	}
	sources := t.ranking.Sources
	if sources == nil {
		sources = []string{}
	}
	res := schemas.ContextResult{
		Meta: schemas.Meta{Type: schemas.MessageContextResult, ID: t.e.cfg.IDs(), ReplyTo: t.request},
		Payload: schemas.ResultPayload{
			Results: results, TotalCount: t.ranking.Found, Sources: sources,
			PackID: t.drop.PackID, Text: t.packed.Text, Pack: t.contextPack(s, refs), Drop: t.drop,
			Explainability: schemas.Explainability{
				TLDR: t.packed.TLDR, Affordances: t.affordances, CausalGraph: t.causal, Warnings: t.warnings,
				Slicing: schemas.Slicing{
					TotalRedacted: redacted, TotalDenied: denied, TotalDroppedBudget: budget,
					BudgetUsed: schemas.BudgetUsed{Bytes: bytes, EstimatedTokens: t.packed.Tokens, Items: len(results)},
				},
			},
		},
	}
	t.clock(&res.Payload)
	if t.req.IncludeScores {
		selection.Annotate(&res.Payload, t.signals())
	}
	return res, nil
}

// signals returns the H4R signals of a candidate by its id, none of one that is masked.
func (t *turn) signals() func(id string) map[string]float64 {
	at := make(map[string]int, len(t.ranking.Candidates))
	for i := range t.ranking.Candidates {
		at[t.ranking.Candidates[i].Record.ID] = i
	}
	return func(id string) map[string]float64 {
		if c := &t.ranking.Candidates[at[id]]; !c.Masked() {
			return c.Signals.Map()
		}
		return nil
	}
}

// provenance points from the pack to the log entries of what it shows.
func (t *turn) provenance(ctx context.Context, s scope.Scope) ([]schemas.ProvenanceRef, error) {
	refs := make([]schemas.ProvenanceRef, len(t.exposed))
	positions := make([]int64, len(t.exposed))
	for i := range t.exposed {
		refs[i] = t.exposed[i].Provenance
		positions[i] = refs[i].Position
	}
	if t.e.cfg.Leaves == nil || len(refs) == 0 {
		return refs, nil
	}
	leaves, err := t.e.cfg.Leaves.Leaves(ctx, s, positions)
	if err != nil || len(leaves) != len(refs) {
		return nil, &schemas.Error{Code: schemas.CodeStorage, Message: "the log entries of the items could not be read"}
	}
	for i := range refs {
		refs[i].Leaf = leaves[i]
	}
	return refs, nil
}

// contextPack is the pack by reference.
func (t *turn) contextPack(s scope.Scope, refs []schemas.ProvenanceRef) schemas.ContextPack {
	sum := sha256.Sum256([]byte(t.packed.Text))
	out := schemas.ContextPack{
		ID: t.drop.PackID, SessionID: t.req.Session, CreatedAt: t.now, TokenBudget: t.budget, TokenActual: t.packed.Tokens,
		Tokenizer: t.e.cfg.Tokens(t.req.Model).Name(), PolicyDecisions: make([]string, len(t.exposed)),
		Sections: make([]schemas.ContextSection, len(t.packed.Sections)), ProvenanceRefs: refs,
		RequestID: t.request, Principal: s.Principal().ID, Purpose: s.Purpose(), AsOf: t.asOf,
		RenderedSHA256: hex.EncodeToString(sum[:]), Relevance: t.trace,
	}
	if p := &t.ranking.Profile; p.Name != "" {
		out.Ranking = p.Trace()
		out.Ranking.Limit, out.Ranking.MinScore, out.Ranking.MaxBytes = t.limit, t.minScore, t.bytes
	}
	if t.e.cfg.Embedder != nil {
		out.Embedding = t.e.cfg.Embedder.Model().String()
	}
	place := make(map[int]int, len(t.packed.Shown))
	for i, at := range t.packed.Shown {
		place[at] = i
		out.PolicyDecisions[i] = t.exposed[i].Item.Evidence.PolicyDecisionID
	}
	for i, sec := range t.packed.Sections {
		items := make([]schemas.ContextItem, len(sec.Items))
		for j, at := range sec.Items {
			items[j] = t.exposed[place[at]].Item
		}
		out.Sections[i] = schemas.ContextSection{
			Type: sec.Type, TokenBudget: sec.Budget, TokenActual: sec.Tokens, Items: items, SelectionReason: sec.Reason,
		}
	}
	return out
}

// batch makes the three drafts of the request.
func (t *turn) batch(s scope.Scope, res *schemas.ContextResult) (eventlog.Batch, error) {
	t.parts = &parts{}
	var dropped, decided eventlog.Draft
	join := aside.Do(func() (err error) {
		if dropped, err = t.encode(s, schemas.TypeContextDropped, t.drop.ID, &t.audit); err != nil {
			return err
		}
		if t.decision.InputHash, err = t.hash.wait(); err != nil {
			return err
		}
		decided, err = t.encode(s, schemas.TypePolicyDecided, t.decision.ID, &t.decision)
		return err
	})
	defer join()
	attachment, err := t.parts.seal(res)
	if err != nil {
		err = fmt.Errorf("encode result: %w", err)
	}
	if err := errors.Join(err, join()); err != nil {
		return eventlog.Batch{}, err
	}
	packed := t.draft(s, schemas.TypeContextPacked, t.drop.PackID, t.parts.logged)
	packed.Attachment, packed.Refs = attachment, t.ids()
	return eventlog.Batch{Drafts: append([]eventlog.Draft{packed, dropped, decided}, t.kept...), Quiet: len(t.kept) == 0}, nil
}

func (t *turn) encode(s scope.Scope, eventType, id string, data any) (eventlog.Draft, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return eventlog.Draft{}, fmt.Errorf("encode %s: %w", eventType, err)
	}
	return t.draft(s, eventType, id, raw), nil
}

func (t *turn) draft(s scope.Scope, eventType, id string, data []byte) eventlog.Draft {
	ext := map[string]string{"datacontenttype": "application/json"}
	if schema := schemas.DataSchema(eventType); schema != "" {
		ext["dataschema"] = schema
	}
	if t.span != nil {
		if c := t.span.SpanContext(); c.IsValid() {
			ext["traceparent"] = traceparent(c)
		}
	}
	return eventlog.Draft{
		Tenant: s.Tenant(), Agent: agent, Type: eventType, Source: Source, ID: id, Subject: t.request,
		Time: t.now, Data: data, Extensions: ext,
	}
}

// traceparent is the W3C header of a span.
func traceparent(c trace.SpanContext) string {
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}
