package pipeline

import (
	"context"
	"encoding/hex"

	"satchel/pipeline/candidate"
	"satchel/pipeline/isolation"
	"satchel/pipeline/selection"
	"satchel/schemas"
)

// result makes the reply, without positions and proof.
func (e *Engine) result(ctx context.Context, rec *Recorder, f final) (*schemas.ContextResult, error) {
	refs, err := e.provenance(ctx, f)
	if err != nil {
		return nil, err
	}
	salt, err := e.cfg.Log.Salt()
	if err != nil {
		return nil, storageError("the pack has no salt, so it does not leave")
	}
	results := make([]schemas.ResultItem, len(f.exposed))
	bytes := 0
	for i := range f.exposed {
		results[i] = f.exposed[i].Result
		bytes += results[i].Metadata.ByteSize
	}
	slicing := slicingOf(f)
	slicing.BudgetUsed = schemas.BudgetUsed{Bytes: bytes, EstimatedTokens: f.packed.Tokens, Items: len(results)}
	timings := rec.Timings()
	res := &schemas.ContextResult{
		Meta: schemas.Meta{Type: schemas.MessageContextResult, ID: e.cfg.IDs(), ReplyTo: f.req.ID},
		Payload: schemas.ResultPayload{
			Results: results, TotalCount: f.ranked.Found, Sources: orEmpty(f.ranked.Sources), QueryDurationMS: timings.TotalMS,
			PackID: f.report.Requester.PackID, Text: f.packed.Text, Pack: e.contextPack(f, refs, salt), Drop: f.report.Requester,
			Explainability: schemas.Explainability{
				TLDR: f.packed.TLDR, Affordances: f.packed.Affordances, CausalGraph: f.packed.Causal,
				Warnings: orEmpty(f.packed.Notes), Slicing: slicing, Timings: timings,
			},
		},
	}
	if f.req.Options.IncludeScores {
		selection.Annotate(&res.Payload, signalsOf(&f.ranked))
	}
	return res, nil
}

// orEmpty is the list, or an empty one for nil, which JSON would write as null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// slicingOf counts what policy and the budget took from the request. Only an auditor is told
// how many items policy denied.
func slicingOf(f final) (out schemas.Slicing) {
	if isAuditor(f.req.Scope) {
		out.TotalDenied = len(f.ranked.Decision.Denied)
	}
	for i := range f.ranked.Candidates {
		c := &f.ranked.Candidates[i]
		switch {
		case c.Drop == schemas.DropBudget:
			out.TotalDroppedBudget++
		case c.Kept() && c.Redacted:
			out.TotalRedacted++
		}
	}
	return out
}

// signalsOf returns the H4R signals of what was found by its id.
func signalsOf(r *Ranked) func(id string) map[string]float64 {
	of := make(map[string]*candidate.Signals, len(r.Candidates)+len(r.Unread))
	for i := range r.Unread {
		of[r.Unread[i].ID] = r.Unread[i].Signals
	}
	for i := range r.Candidates {
		of[r.Candidates[i].ID] = r.Candidates[i].Signals
	}
	return func(id string) map[string]float64 { return of[id].Map() }
}

// provenance points from the pack to the log entries of its items.
func (e *Engine) provenance(ctx context.Context, f final) ([]schemas.ProvenanceRef, error) {
	refs := make([]schemas.ProvenanceRef, len(f.exposed))
	positions := make([]int64, len(f.exposed))
	for i := range f.exposed {
		refs[i] = f.exposed[i].Provenance
		positions[i] = refs[i].Position
	}
	if e.cfg.Leaves == nil || len(refs) == 0 {
		return refs, nil
	}
	leaves, err := e.cfg.Leaves.Leaves(ctx, f.req.Scope, positions)
	if err != nil || len(leaves) != len(refs) {
		return nil, storageError("the log entries of the items could not be read")
	}
	for i := range refs {
		refs[i].Leaf = leaves[i]
	}
	return refs, nil
}

// contextPack is the pack by reference. Its hashes take in the salt.
func (e *Engine) contextPack(f final, refs []schemas.ProvenanceRef, salt [32]byte) schemas.ContextPack {
	s := f.req.Scope
	out := schemas.ContextPack{
		ID: f.report.Requester.PackID, SessionID: f.req.Session, CreatedAt: f.req.Times.Ranking,
		TokenBudget: f.plan.budget(f.req), TokenActual: f.packed.Tokens, Tokenizer: e.cfg.Tokens(f.req.Model).Name(),
		PolicyDecisions: make([]string, len(f.exposed)), Sections: sectionsShown(f), ProvenanceRefs: refs,
		RequestID: f.req.ID, Principal: s.Principal().ID, Purpose: s.Purpose(), AsOf: f.plan.AsOf,
		Salt: hex.EncodeToString(salt[:]), RenderedSHA256: schemas.SaltedSHA256(salt[:], []byte(f.packed.Text)), Relevance: f.plan.Relevance,
	}
	if p := &f.ranked.Profile; p.Name != "" {
		limits := &f.req.Limits
		out.Ranking = p.Trace()
		out.Ranking.Limit, out.Ranking.MinScore, out.Ranking.MaxBytes = limits.Items, limits.MinScore, limits.Bytes
		out.Ranking.Prefer = f.req.Options.Prefer
	}
	if out.Embedding = f.ranked.Embedding; out.Embedding == "" && e.cfg.Embedder != nil {
		out.Embedding = e.cfg.Embedder.Model().String()
	}
	if len(f.exposed) > 0 { // an erasure of what is shown takes the question with it
		out.Query = f.req.Query
	}
	for i := range f.exposed {
		out.PolicyDecisions[i] = f.exposed[i].Item.Evidence.PolicyDecisionID
	}
	return out
}

// sectionsShown are the sections of the pack with their items.
func sectionsShown(f final) []schemas.ContextSection {
	exposed := make(map[int]*isolation.Exposed, len(f.exposed)) // by candidate
	for n, i := range f.packed.Shown {
		exposed[i] = &f.exposed[n]
	}
	out := make([]schemas.ContextSection, len(f.packed.Sections))
	for n, sec := range f.packed.Sections {
		items := make([]schemas.ContextItem, len(sec.Items))
		for j, i := range sec.Items {
			items[j] = exposed[i].Item
		}
		out[n] = schemas.ContextSection{
			Type: sec.Type, TokenBudget: sec.Budget, TokenActual: sec.Tokens, Items: items, SelectionReason: sec.Reason,
		}
	}
	return out
}
