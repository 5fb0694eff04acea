package selection

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

// ActionRead is the policy action of showing an item.
const ActionRead = "read"

// ErrVerdicts is returned when a decision does not have one verdict for every
// resource; nothing of it can be trusted then.
var ErrVerdicts = errors.New("policy decision does not match its request")

// Slice asks the policy about every candidate in one decision and marks each with
// its verdict. What is denied is dropped, and so is what redaction leaves nothing of;
// what is redacted in part is changed before anyone counts or shows it. The decision and each verdict get ids from id. An error leaves
// every candidate denied.
func Slice(ctx context.Context, s scope.Scope, pdp policies.PDP, now time.Time, id string, cs []candidate.Candidate) (schemas.PolicyDecision, error) {
	for i := range cs {
		cs[i].Verdict = schemas.Verdict{ItemID: cs[i].Record.ID}
		cs[i].Drop = schemas.DropPolicy
	}
	out := schemas.PolicyDecision{
		ID: id, Principal: s.Principal().ID, Purpose: s.Purpose(), Action: ActionRead, CreatedAt: now,
		Revision: pdp.Revision(), Verdicts: []schemas.Verdict{},
	}
	if len(cs) == 0 {
		return out, nil
	}
	d, err := pdp.Decide(ctx, s, policies.Request{Action: ActionRead, Now: now, Resources: resources(cs), DecisionID: id})
	if err != nil {
		return out, fmt.Errorf("decide on %d candidates: %w", len(cs), err)
	}
	if len(d.Verdicts) != len(cs) {
		return out, fmt.Errorf("decide on %d candidates: %w", len(cs), ErrVerdicts)
	}
	out.Revision, out.InputHash = d.Revision, d.InputHash
	out.Verdicts = make([]schemas.Verdict, len(cs))
	for i, v := range d.Verdicts {
		out.Verdicts[i] = schemas.Verdict{
			ID: id + "." + strconv.Itoa(i+1), ItemID: cs[i].Record.ID, Allow: v.Allow, Reason: v.Reason,
			Redact: v.Allow && len(v.Redact) > 0, RedactedFields: v.Redact, Exception: v.Exception,
		}
		cs[i].Verdict = out.Verdicts[i]
		if v.Allow {
			cs[i].Drop = ""
			redact(&cs[i].Record, v.Redact)
		}
		if v.Allow && len(v.Redact) > 0 && cs[i].Record.Content.Text() == Redacted {
			cs[i].Drop, cs[i].Detail = schemas.DropPolicy, "redacted_whole" // it would only take a place
		}
	}
	return out, nil
}

func resources(cs []candidate.Candidate) []policies.Resource {
	out := make([]policies.Resource, len(cs))
	for i := range cs {
		r := &cs[i].Record
		out[i] = policies.Resource{
			ID: r.ID, Facets: r.Facets, PIIFlags: r.PIIFlags, ExpiresAt: r.ExpiresAt(),
			ValidTo: r.ValidTo, CreatedAt: r.CreatedAt,
		}
	}
	return out
}

// redact removes from a record what the paths name, in every field that can be shown.
func redact(r *schemas.Record, paths []string) {
	if len(paths) == 0 {
		return
	}
	r.Content = Redact(r.Content, paths)
	r.Tokens = 0 // it was counted with what is gone
	r.Summary = nil
	if redactsField(paths, "speaker") {
		r.Speaker = ""
	}
	if redactsField(paths, "attributes") {
		r.Attributes = nil
	}
	if redactsField(paths, "links") {
		r.Links = nil
	}
	if redactsField(paths, "provenance") {
		r.Provenance.SourceURI = ""
	}
}
