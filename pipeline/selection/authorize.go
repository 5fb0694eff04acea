package selection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pii"
	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/policies"
	"satchel/schemas"
)

// ActionRead is the policy action of showing an item.
const ActionRead = "read"

// ErrVerdicts is returned when a decision does not have one verdict for every
// resource; nothing of it can be trusted then.
var ErrVerdicts = errors.New("policy decision does not match its request")

// ReasonObligations is the reason of an item that policy allows and that is not shown, since its obligations cannot be met.
const ReasonObligations = "obligations"

// AuthorizerConfig says what an Authorizer decides by.
type AuthorizerConfig struct {
	PDP       policies.PDP
	Sanitizer *pii.Sanitizer     // meets the obligations
	Registry  *policies.Registry // lowers trust to what it grants, and knows authors; the same for all requests
	Now       time.Time          // what policy takes for now
	Decision  string             // id of the decision that all of it is part of
}

// Authorizer decides for one request which items its principal may see, and what of them.
// It asks the policy about each version of an item once. It is not safe for concurrent use.
type Authorizer struct {
	cfg     AuthorizerConfig
	scope   scope.Scope
	decided map[candidate.Version]*decided
	denied  []*decided // in the order of the decisions
	out     policies.Decision
}

// decided is what was decided on one version of an item.
type decided struct {
	*view
	verdict schemas.Verdict
	visible *candidate.Visible // nil: the item is not shown
	reason  string             // why not
	public  bool               // the principal sees of it what everybody sees
}

// view is what depends on a record and the registry alone.
type view struct {
	record   *schemas.Record // with the trust that its author is granted
	resource policies.Resource
	whole    candidate.Visible   // for who may see all of it
	hidden   []string            // see policies.Public
	owed     schemas.Obligations // see policies.Public
	part     atomic.Pointer[part]
}

// part is what remained of a record when something was hidden last, and what that was.
type part struct {
	by      *pii.Sanitizer
	tenant  string
	redact  []string
	owed    schemas.Obligations
	visible candidate.Visible
}

// partFor returns what remains of the record where it was made before, nil where it was not.
func (v *view) partFor(z *pii.Sanitizer, tenant string, by *policies.Verdict) *candidate.Visible {
	p := v.part.Load()
	if p == nil || p.by != z || p.tenant != tenant || !slices.Equal(p.redact, by.Redact) || !p.owed.Equal(by.Obligations) {
		return nil
	}
	return &p.visible
}

// viewOf returns the view of a record. Requests share it.
func (a *Authorizer) viewOf(r *items.Lent) *view {
	return r.Derived(func(r *schemas.Record) any {
		r = a.lowerTrust(r)
		v := &view{record: r, resource: policies.ResourceOf(r), whole: candidate.NewVisible(r, false)}
		v.whole.Author = a.cfg.Registry.Author(r)
		v.hidden, v.owed = policies.Public(&v.resource)
		return v
	}).(*view)
}

// lowerTrust returns a record with no more trust than its author is granted now.
func (a *Authorizer) lowerTrust(r *schemas.Record) *schemas.Record {
	lowered := *r
	if r.Author == "" || !a.cfg.Registry.Grant(a.scope.Tenant(), r.Author, &lowered.MemoryItem) {
		return r
	}
	lowered.Facets.Trust = *lowered.Trust
	return &lowered
}

// NewAuthorizer returns an Authorizer for a request of s.
func NewAuthorizer(s scope.Scope, cfg AuthorizerConfig) *Authorizer {
	return &Authorizer{cfg: cfg, scope: s, decided: map[candidate.Version]*decided{}}
}

// Authorize decides on the records, nil ones left out. It changes no record. With an error
// nothing may be shown.
func (a *Authorizer) Authorize(ctx context.Context, records []*items.Lent) (candidate.Authorized, error) {
	of, err := a.decideRecords(ctx, records)
	if err != nil {
		return candidate.Authorized{}, err
	}
	n := len(records)
	out := candidate.Authorized{Visible: make([]*candidate.Visible, n), Verdicts: make([]*schemas.Verdict, n), Own: make([]bool, n)}
	for i, d := range of {
		if d != nil {
			out.Visible[i] = d.visible
			out.Verdicts[i] = &d.verdict
			out.Own[i] = !d.public
		}
	}
	return out, nil
}

func versionOf(r *schemas.Record) candidate.Version {
	return candidate.Version{ID: r.ID, Position: r.Position}
}

// decideRecords returns what was decided on each record, nil for a nil one. It asks the policy about
// those that it was not asked about before.
func (a *Authorizer) decideRecords(ctx context.Context, records []*items.Lent) ([]*decided, error) {
	of := make([]*decided, len(records))
	open := make([]int, 0, len(records))
	for i, r := range records {
		if r == nil {
			continue
		}
		of[i] = a.decided[versionOf(r.Record)]
		if of[i] == nil {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return of, nil
	}
	if len(a.decided) == 0 {
		a.decided = make(map[candidate.Version]*decided, len(open))
	}
	all := make([]decided, len(open))
	resources := make([]policies.Resource, len(open))
	for j, i := range open {
		of[i] = &all[j]
		all[j].view = a.viewOf(records[i])
		resources[j] = all[j].resource
	}
	d, err := a.cfg.PDP.Decide(ctx, a.scope, policies.Request{Action: ActionRead, Now: a.cfg.Now, Resources: resources, DecisionID: a.cfg.Decision})
	if err != nil {
		return nil, fmt.Errorf("decide on %d items: %w", len(open), err)
	}
	if len(d.Verdicts) != len(open) {
		return nil, fmt.Errorf("decide on %d items: %w", len(open), ErrVerdicts)
	}
	a.out.Revision = d.Revision
	for _, w := range d.Warnings {
		if !slices.Contains(a.out.Warnings, w) {
			a.out.Warnings = append(a.out.Warnings, w)
		}
	}
	for j, i := range open {
		one := &all[j]
		r := records[i].Record
		one.applyVerdict(a.scope.Tenant(), a.cfg.Sanitizer, &d.Verdicts[j], one.record)
		a.decided[versionOf(r)] = one
		if one.visible == nil {
			a.denied = append(a.denied, one)
		}
	}
	return of, nil
}

// applyVerdict does to a copy of the record what the verdict says.
func (d *decided) applyVerdict(tenant string, z *pii.Sanitizer, v *policies.Verdict, r *schemas.Record) {
	d.verdict = schemas.Verdict{ItemID: r.ID, Allow: v.Allow, Reason: v.Reason, Exception: v.Exception}
	d.public = slices.Equal(d.hidden, v.Redact) && d.owed.Equal(v.Obligations)
	switch {
	case !v.Allow:
		d.reason = v.Reason
		if d.reason == "" {
			d.reason = "denied"
		}
		return
	case len(v.Redact) == 0 && v.Obligations.IsZero():
		d.visible = &d.whole
		return
	}
	d.verdict.Redact = len(v.Redact) > 0
	d.verdict.RedactedFields = v.Redact
	if !v.Obligations.IsZero() {
		obligations := v.Obligations // few have any: the others need no memory
		d.verdict.Obligations = &obligations
	}
	d.visible = d.partFor(z, tenant, v)
	if d.visible == nil {
		d.hideRedacted(tenant, z, v, r)
	}
}

// hideRedacted takes from a copy of the record what the verdict hides.
func (d *decided) hideRedacted(tenant string, z *pii.Sanitizer, v *policies.Verdict, r *schemas.Record) {
	shown := *r
	if !z.Apply(tenant, &shown, v.Redact, v.Obligations) {
		d.verdict = schemas.Verdict{ItemID: r.ID, Reason: ReasonObligations}
		d.reason = ReasonObligations
		return
	}
	if len(v.Redact) > 0 {
		shown.Provenance.SourceURI = ""
	}
	if pii.Whole(r.Content, v.Redact) { // what describes the content goes with it
		if !v.Obligations.Pseudonymises() {
			d.reason = schemas.ReasonRedacted // it would only take a place
			return
		}
		shown.Speaker = ""
		shown.Attributes = nil
		shown.Links = nil
		shown.Category = ""
		shown.Session = ""
		shown.Scope.Session = ""
		shown.Scope.Project = ""
	}
	p := &part{by: z, tenant: tenant, redact: v.Redact, owed: v.Obligations, visible: candidate.NewVisible(&shown, true)}
	if shown.Speaker == r.Speaker {
		p.visible.Author = d.whole.Author
	}
	p.visible.Redacted = len(v.Redact) > 0 || !shownWhole(r, &shown)
	d.visible = &p.visible
	d.part.Store(p)
}

// shownWhole reports whether obligations took nothing from what replies show of a record.
func shownWhole(r, shown *schemas.Record) bool {
	return r.Content.Text() == shown.Content.Text() && r.Speaker == shown.Speaker && r.Category == shown.Category &&
		r.SessionID() == shown.SessionID() && r.Provenance.SourceURI == shown.Provenance.SourceURI &&
		bytes.Equal(r.Attributes, shown.Attributes)
}

// Warnings are sentences on how it was decided, each once.
func (a *Authorizer) Warnings() []string { return a.out.Warnings }

// Denied returns the items that the principal may not see and the reasons.
func (a *Authorizer) Denied() []candidate.Denied {
	out := make([]candidate.Denied, len(a.denied))
	for i, d := range a.denied {
		out[i] = candidate.Denied{ID: d.resource.ID, Reason: d.reason}
	}
	return out
}

// Record returns the decision as it is logged: the verdicts on the candidates, in their
// order, and on everything that was denied. It gives each verdict its id, the candidates'
// included. The second result is what the policy was asked about these, for the input hash.
func (a *Authorizer) Record(request string, cs []candidate.Candidate) (schemas.PolicyDecision, policies.Request) {
	out := schemas.PolicyDecision{
		ID: a.cfg.Decision, RequestID: request, Principal: a.scope.Principal().ID, Purpose: a.scope.Purpose(), Action: ActionRead, CreatedAt: a.cfg.Now,
		Revision: a.out.Revision, Verdicts: make([]schemas.Verdict, 0, len(cs)+len(a.denied)),
	}
	if out.Revision == "" {
		out.Revision = a.cfg.PDP.Revision()
	}
	asked := policies.Request{Action: ActionRead, Now: a.cfg.Now, RequestID: request, DecisionID: a.cfg.Decision,
		Resources: make([]policies.Resource, 0, len(cs)+len(a.denied))}
	ids := makeNumberedIDs(a.cfg.Decision, len(cs)+len(a.denied))
	for i := range cs {
		d := a.decided[candidate.Version{ID: cs[i].ID, Position: cs[i].Position}]
		v := d.verdict
		v.ID = ids[i]
		cs[i].Verdict = v
		out.Verdicts = append(out.Verdicts, v)
		asked.Resources = append(asked.Resources, d.resource)
	}
	for i, d := range a.denied {
		v := d.verdict
		v.ID = ids[len(cs)+i]
		out.Verdicts = append(out.Verdicts, v)
		asked.Resources = append(asked.Resources, d.resource)
	}
	return out, asked
}

// makeNumberedIDs returns "id.1" to "id.n", which share their memory.
func makeNumberedIDs(id string, n int) []string {
	text := make([]byte, 0, n*(len(id)+4))
	ends := make([]int, n)
	for i := range n {
		text = strconv.AppendInt(append(append(text, id...), '.'), int64(i+1), 10)
		ends[i] = len(text)
	}
	all := string(text)
	from := 0
	ids := make([]string, n)
	for i, end := range ends {
		ids[i] = all[from:end]
		from = end
	}
	return ids
}
