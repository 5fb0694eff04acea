package service

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/schemas"
)

// decisionAfter is how many entries after a pack's its policy decision stands.
const decisionAfter = 2

// Explain answers ctx.v1.<tenant>.explain: why an item is, or is not, in a pack, and
// what would have changed that. It wants what Pack wants. Of an item that policy
// denied or redacted whole only an auditor is told; for others it is as if it had not
// been found.
func (v *Service) Explain(ctx context.Context, tenant string, body []byte) (any, error) {
	req, err := decodeRequest(body, schemas.Decode[schemas.ExplainRequest])
	if err != nil {
		return nil, err
	}
	leave, err := v.beginSearch(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	stored, err := v.openPack(ctx, tenant, schemas.PackRequest{PackID: req.PackID, From: req.From})
	if err != nil {
		return nil, err
	}
	var res schemas.ContextResult
	if err := json.Unmarshal(stored.raw, &res); err != nil {
		return nil, storageError(ctx, "read the pack", err)
	}
	asker, err := v.Scope(ctx, tenant, req.From, res.Payload.Pack.Purpose)
	if err != nil {
		return nil, err
	}
	verdict, err := v.readVerdict(ctx, tenant, stored.position+decisionAfter, req.ItemID)
	if err != nil {
		return nil, err
	}
	p := asker.Principal()
	return explainItem(&res.Payload, req.ItemID, verdict, p.HasRole("auditor")), nil
}

// explainItem finds the item among what was shown and dropped, for an auditor among what
// policy left out as well.
func explainItem(p *schemas.ResultPayload, id string, verdict *schemas.Verdict, auditor bool) schemas.ExplainReply {
	account := selection.NewAccount(p)
	reply := schemas.ExplainReply{Verdict: verdict}
	if item, why, change := account.Item(id); item != nil {
		reply.Item = item
		reply.Explanation = why
		reply.Change = change
		return reply
	}
	if drop, why, change := account.Drop(id); drop != nil {
		reply.Drop = drop
		reply.Explanation = why
		reply.Change = change
		return reply
	}
	if !auditor {
		reply.Verdict = nil
		verdict = nil
	}
	if verdict != nil && !verdict.Allow {
		reply.Explanation = "Dropped because " + schemas.DropPolicy.Sentence() + " (" + strings.ReplaceAll(verdict.Reason, "_", " ") + ")."
		reply.Change = "Another principal, or another purpose, may be allowed it."
		return reply
	}
	if verdict != nil { // allowed, but redaction left nothing of it, or what passes no filter
		reply.Explanation = "Dropped because redaction leaves nothing of it for the pack's principal, or nothing that passes the filters."
		reply.Change = "A principal who may see the redacted fields would be shown it."
		return reply
	}
	reply.Explanation = "It was not a candidate: the question did not find it, or it may not be named to you."
	if auditor {
		reply.Explanation = "It was not a candidate: the question did not find it, or policy kept the pack's principal from searching it."
	}
	reply.Change = "A question nearer to what it says, or a larger limit, may find it."
	return reply
}

// readVerdict reads policy's answer on an item from the decision at a position, nil when it
// was not asked about it.
func (v *Service) readVerdict(ctx context.Context, tenant string, position int64, id string) (*schemas.Verdict, error) {
	s, err := scope.System(tenant)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Message: err.Error()}
	}
	entry, err := v.cfg.Log.Entry(ctx, s, position)
	if err != nil {
		return nil, storageError(ctx, "read the decision", err)
	}
	if entry.Type != schemas.TypePolicyDecided {
		return nil, &schemas.Error{Code: schemas.CodeStorage, Message: "the decision does not stand beside its pack"}
	}
	var d schemas.PolicyDecision
	if err := json.Unmarshal(entry.Data, &d); err != nil {
		return nil, storageError(ctx, "read the decision", err)
	}
	if at := slices.IndexFunc(d.Verdicts, func(one schemas.Verdict) bool { return one.ItemID == id }); at >= 0 {
		return &d.Verdicts[at], nil
	}
	return nil, nil
}
