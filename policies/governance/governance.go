// Package governance asks policy who may govern Satchel itself, and makes the log's entries of it.
//
// Acts of governance are those of packages exception and hold. Policy decides on each. An allowed act
// is in the log together with its decision, a refused one as request.refused. Without an answer of
// policy nobody may govern.
package governance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
	"satchel/policies"
	"satchel/schemas"
)

// Log is the part of the event log that an Office writes to; *eventlog.Log is one.
type Log interface {
	Append(ctx context.Context, b eventlog.Batch) ([]eventlog.Outcome, error)
}

// Office decides on acts of governance and logs them. Every field is required. It is safe for
// concurrent use.
type Office struct {
	Log    Log
	PDP    policies.PDP // decides; not a Guard
	Source string       // CloudEvents source of what it logs
	IDs    func() string
}

// Act is what somebody asks to do.
type Act struct {
	Action   string // of policy
	Resource policies.Resource
	Words    string // the act in words: register this exception
	At       time.Time
}

// Authorise asks policy and returns the decision that allowed the act. It logs a refusal, and then
// returns a *schemas.Error with CodePolicyDenied. Any other error means that the log was not written.
func (o *Office) Authorise(ctx context.Context, s scope.Scope, a Act) (schemas.PolicyDecision, error) {
	id := o.IDs()
	d, err := o.PDP.Decide(ctx, s, policies.Request{Action: a.Action, Now: a.At, Resources: []policies.Resource{a.Resource}, DecisionID: id})
	if err == nil && len(d.Verdicts) == 1 && d.Verdicts[0].Allow {
		v := d.Verdicts[0]
		return schemas.PolicyDecision{ID: id, Principal: s.Principal().ID, Purpose: s.Purpose(), Action: a.Action, Revision: d.Revision,
			InputHash: d.InputHash, CreatedAt: a.At, Verdicts: []schemas.Verdict{{ID: id + ".1", ItemID: a.Resource.ID, Allow: true, Reason: v.Reason}}}, nil
	}
	denied := &schemas.Error{Code: schemas.CodePolicyDenied, Message: "policy gave no verdict, so nobody may " + a.Words}
	if err == nil && len(d.Verdicts) == 1 {
		denied.Message = "policy does not allow this principal to " + a.Words + ": " + d.Verdicts[0].Reason
	}
	refusal, err := o.Draft(s, schemas.TypeRequestRefused, o.IDs(), id, a.At,
		schemas.Refusal{RequestID: id, Principal: s.Principal().ID, Code: denied.Code, Message: denied.Message})
	if err == nil {
		err = o.Append(ctx, eventlog.Batch{Existing: true, Drafts: []eventlog.Draft{refusal}})
	}
	if err != nil {
		return schemas.PolicyDecision{}, err
	}
	return schemas.PolicyDecision{}, denied
}

// Decided makes the entry of the decision that allowed what has an id. It MUST be appended in one
// batch with the act.
func (o *Office) Decided(s scope.Scope, d schemas.PolicyDecision, id string) (eventlog.Draft, error) {
	d.RequestID = id
	return o.Draft(s, schemas.TypePolicyDecided, d.ID, id, d.CreatedAt, &d)
}

// Draft makes an entry. Data MUST NOT hold content of items.
func (o *Office) Draft(s scope.Scope, eventType, id, subject string, at time.Time, data any) (eventlog.Draft, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return eventlog.Draft{}, fmt.Errorf("encode %s: %w", eventType, err)
	}
	return eventlog.Draft{Tenant: s.Tenant(), Agent: "satchel", Type: eventType, Source: o.Source, ID: id, Subject: subject, Time: at, Data: raw,
		Extensions: map[string]string{"datacontenttype": "application/json", "dataschema": schemas.DataSchema(eventType)}}, nil
}

// Append appends all of a batch or returns an error.
func (o *Office) Append(ctx context.Context, b eventlog.Batch) error {
	if len(b.Drafts) == 0 {
		return nil
	}
	outcomes, err := o.Log.Append(ctx, b)
	if err != nil {
		return fmt.Errorf("log an act of governance: %w", err)
	}
	for _, out := range outcomes {
		if out.Status != eventlog.Appended && !(b.Existing && out.Status == eventlog.Absent) {
			return errors.New("log an act of governance: an id was used before")
		}
	}
	return nil
}
