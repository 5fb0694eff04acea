package selection

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

// ActionRead is the policy action of showing an item.
const ActionRead = "read"

// ErrVerdicts is returned when a decision does not have one verdict for every
// resource; nothing of it can be trusted then.
var ErrVerdicts = errors.New("policy decision does not match its request")

// ReasonObligations is the reason of what policy allows under obligations that cannot be
// met.
const ReasonObligations = "obligations"

// Slice asks the policy about every candidate in one decision and marks each with
// its verdict. What is denied is dropped, and so is what redaction leaves nothing of;
// what is redacted, masked or cut is changed by z before anyone counts or shows it. The
// decision and each verdict get ids from id. An error leaves every candidate denied.
func Slice(ctx context.Context, s scope.Scope, pdp policies.PDP, z *pii.Sanitizer, now time.Time, id string, cs []candidate.Candidate) (schemas.PolicyDecision, error) {
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
	ids := numbered(id, len(cs))
	for i := range d.Verdicts {
		out.Verdicts[i] = apply(s.Tenant(), z, &d.Verdicts[i], &cs[i])
		out.Verdicts[i].ID, out.Verdicts[i].ItemID = ids[i], cs[i].Record.ID
		cs[i].Verdict = out.Verdicts[i]
	}
	return out, nil
}

// numbered returns "id.1" to "id.n", which share their memory.
func numbered(id string, n int) []string {
	text := make([]byte, 0, n*(len(id)+4))
	ends := make([]int, n)
	for i := range n {
		text = strconv.AppendInt(append(append(text, id...), '.'), int64(i+1), 10)
		ends[i] = len(text)
	}
	all, from, ids := string(text), 0, make([]string, n)
	for i, end := range ends {
		ids[i], from = all[from:end], end
	}
	return ids
}

// apply does to a candidate what its verdict says and returns the verdict as it is logged.
func apply(tenant string, z *pii.Sanitizer, v *policies.Verdict, c *candidate.Candidate) schemas.Verdict {
	logged := schemas.Verdict{Allow: v.Allow, Reason: v.Reason, Exception: v.Exception}
	if !v.Allow {
		return logged
	}
	if !z.Apply(tenant, &c.Record, v.Redact, v.Obligations) {
		return schemas.Verdict{Reason: ReasonObligations}
	}
	logged.Redact, logged.RedactedFields = len(v.Redact) > 0, v.Redact
	withhold(v, c)
	if !v.Obligations.IsZero() {
		obligations := v.Obligations // few have any: the others need no memory
		logged.Obligations = &obligations
	}
	c.Drop = ""
	if len(v.Redact) > 0 && c.Record.Content.Text() == pii.Redacted {
		c.Drop, c.Detail = schemas.DropPolicy, candidate.ReasonRedacted // it would only take a place
	}
	return logged
}

// withhold takes from a candidate that is masked what was computed of the whole item and
// would confirm a guess at it: checksum, novelty, the place of its best chunk. The address
// of one that is redacted goes too.
func withhold(v *policies.Verdict, c *candidate.Candidate) {
	if len(v.Redact) == 0 && v.Obligations.IsZero() {
		return
	}
	r := &c.Record
	r.Provenance.Checksum, r.Novelty, c.Span = "", nil, nil
	if len(v.Redact) > 0 {
		r.Provenance.SourceURI = ""
	}
}

func resources(cs []candidate.Candidate) []policies.Resource {
	out := make([]policies.Resource, len(cs))
	for i := range cs {
		out[i] = policies.ResourceOf(&cs[i].Record)
	}
	return out
}
