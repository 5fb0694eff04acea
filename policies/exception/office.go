package exception

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

// Office asks policy who may govern Satchel itself, and logs what was decided: for exceptions, and for
// legal holds. An allowed act is in the log together with its decision, a refused one as
// request.refused. Without an answer of policy nobody may govern. Every field is required. It is safe
// for concurrent use.
type Office struct {
	Log    Appender
	PDP    policies.PDP // decides; not a Guard
	Source string       // CloudEvents source of what it logs
	IDs    func() string
}

// Appender is the part of the event log that an Office writes to; *eventlog.Log is one.
type Appender interface {
	Append(ctx context.Context, b eventlog.Batch) ([]eventlog.Outcome, error)
}

// Authorise asks policy whether s may do action with r and returns the decision that allows it. words
// say the act: register this exception. Authorise logs a refusal, and then returns a *schemas.Error
// with CodePolicyDenied. Any other error means that the log was not written.
func (o *Office) Authorise(
	ctx context.Context, s scope.Scope, action, words string, r policies.Resource, at time.Time,
) (schemas.PolicyDecision, error) {
	id := o.IDs()
	asked := policies.Request{Action: action, Now: at, Resources: []policies.Resource{r}, DecisionID: id}
	d, err := o.PDP.Decide(ctx, s, asked)
	if err == nil && len(d.Verdicts) == 1 && d.Verdicts[0].Allow {
		v := schemas.Verdict{ID: id + ".1", ItemID: r.ID, Allow: true, Reason: d.Verdicts[0].Reason}
		return schemas.PolicyDecision{ID: id, Principal: s.Principal().ID, Purpose: s.Purpose(), Action: action,
			Revision: d.Revision, InputHash: d.InputHash, CreatedAt: at, Verdicts: []schemas.Verdict{v}}, nil
	}
	denied := &schemas.Error{Code: schemas.CodePolicyDenied, Undecided: true, Message: "policy gave no verdict, so nobody may " + words}
	if err == nil && len(d.Verdicts) == 1 {
		denied.Undecided = false
		denied.Message = "policy does not allow this principal to " + words + ": " + d.Verdicts[0].Reason
	}
	refusal, err := o.makeDraft(s, schemas.TypeRequestRefused, o.IDs(), id, at,
		schemas.Refusal{RequestID: id, Principal: s.Principal().ID, Code: denied.Code, Message: denied.Message})
	if err == nil {
		err = o.appendBatch(ctx, eventlog.Batch{Existing: true, Drafts: []eventlog.Draft{refusal}})
	}
	if err != nil {
		return schemas.PolicyDecision{}, err
	}
	return schemas.PolicyDecision{}, denied
}

// Record logs an act about what has an id, with the decision that allowed it. data MUST NOT hold
// content of items.
func (o *Office) Record(
	ctx context.Context, s scope.Scope, d schemas.PolicyDecision, about, eventType, id, subject string, data any,
) error {
	decided, err := o.draftDecision(s, d, about)
	if err != nil {
		return err
	}
	done, err := o.makeDraft(s, eventType, id, subject, d.CreatedAt, data)
	if err != nil {
		return err
	}
	return o.appendBatch(ctx, eventlog.Batch{Drafts: []eventlog.Draft{decided, done}})
}

// draftDecision makes the entry of the decision that allowed what has an id.
func (o *Office) draftDecision(s scope.Scope, d schemas.PolicyDecision, id string) (eventlog.Draft, error) {
	d.RequestID = id
	return o.makeDraft(s, schemas.TypePolicyDecided, d.ID, id, d.CreatedAt, &d)
}

func (o *Office) makeDraft(s scope.Scope, eventType, id, subject string, at time.Time, data any) (eventlog.Draft, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return eventlog.Draft{}, fmt.Errorf("encode %s: %w", eventType, err)
	}
	about := map[string]string{"datacontenttype": "application/json", "dataschema": schemas.DataSchema(eventType)}
	return eventlog.Draft{Tenant: s.Tenant(), Agent: "satchel", Type: eventType, Source: o.Source, ID: id, Subject: subject,
		Time: at, Data: raw, Extensions: about}, nil
}

// appendBatch appends all of a batch or returns an error.
func (o *Office) appendBatch(ctx context.Context, b eventlog.Batch) error {
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
