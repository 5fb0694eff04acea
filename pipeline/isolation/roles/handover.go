package roles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// handover is a hand-over as it stands in the log.
type handover struct {
	schemas.Handover
	position int64
}

// handOver commits what the role hands to the next.
func (st *step) handOver(ctx context.Context, reply *schemas.RoleReply, external bool) (handover, error) {
	message, err := json.Marshal(reply)
	if err != nil {
		return handover{}, fmt.Errorf("encode hand-over: %w", err)
	}
	to, reason := next(st.role, reply)
	reply.Next = to
	body := eventlog.NewBody(message)
	h := schemas.Handover{
		ID: st.id, RequestID: st.req.RequestID, From: st.role, To: to, PackID: reply.PackID, Reason: reason,
		Principal: st.s.Principal().ID, CreatedAt: st.cfg.Clock().UTC(), Policy: st.policy, MessageSHA256: body.Hex(), External: external,
		Findings: reply.Findings,
	}
	if reply.Plan != nil {
		h.Steps = len(reply.Plan.Steps)
	}
	if reply.Answer != nil {
		h.Cited = cited(reply.Answer)
		if st.role == Synthesizer {
			h.Invocation = &reply.Answer.Invocation
		}
	}
	if reply.Verification != nil {
		h.Checks = reply.Verification.Checks
	}
	if to == caller {
		reply.Next = ""
	}
	data, err := json.Marshal(&h)
	if err != nil {
		return handover{}, fmt.Errorf("encode hand-over: %w", err)
	}
	draft := eventlog.Draft{
		Tenant: st.s.Tenant(), Agent: st.role, Type: schemas.TypeRoleHandedOver, Source: Source, ID: h.ID, Subject: h.RequestID,
		Time: h.CreatedAt, Data: data, Attachment: body, Refs: st.shown(reply),
		Extensions: map[string]string{"datacontenttype": "application/json", "dataschema": schemas.DataSchema(schemas.TypeRoleHandedOver)},
	}
	outcomes, err := st.cfg.Log.Append(ctx, eventlog.Batch{Drafts: []eventlog.Draft{draft}})
	if err == nil && len(outcomes) == 1 && outcomes[0].Status == eventlog.Reused { // the run was begun meanwhile
		if err := st.claim(ctx); err != nil {
			return handover{}, err
		}
		st.id, reply.Next = st.cfg.IDs(), "" // by this principal
		return st.handOver(ctx, reply, external)
	}
	if err != nil || len(outcomes) != 1 || outcomes[0].Status != eventlog.Appended {
		return handover{}, &schemas.Error{Code: schemas.CodeStorage, Message: "the hand-over could not be logged, so the run ends"}
	}
	reply.Position = outcomes[0].Position
	return handover{h, outcomes[0].Position}, nil
}

// claim makes sure that the run is this principal's: who hands over first owns it. That
// hand-over's id is made of the run's, so that the log itself takes one alone.
func (st *step) claim(ctx context.Context) error {
	if st.begun {
		return nil
	}
	entries, err := st.cfg.Log.BySubject(ctx, st.s, st.req.RequestID, schemas.TypeRoleHandedOver)
	if err != nil {
		return &schemas.Error{Code: schemas.CodeStorage, Message: "the log could not be read"}
	}
	if len(entries) == 0 {
		st.id = "run." + digest([]byte(st.req.RequestID))
		return nil
	}
	var first schemas.Handover
	if err := json.Unmarshal(entries[0].Data, &first); err != nil || first.Principal != st.s.Principal().ID {
		return st.foreign()
	}
	return nil
}

func (st *step) foreign() error {
	return &schemas.Error{Code: schemas.CodePolicyDenied, Field: "/request_id", Message: "names a run of another"}
}

// next says which role follows, and why.
func next(role string, reply *schemas.RoleReply) (to, reason string) {
	switch role {
	case Planner:
		return Retriever, "the task is taken apart; its steps need context"
	case Retriever:
		return Verifier, "the context is assembled; labels and tools are to be checked"
	case Synthesizer:
		return Verifier, "the answer is written; its citations are to be checked"
	case Verifier:
		v := reply.Verification
		switch {
		case v == nil || !v.OK && v.Stage == stageContext:
			return caller, "the context may not be used"
		case v.Stage == stageContext:
			return Synthesizer, "the context holds; it can be answered from"
		case !v.OK:
			return Synthesizer, "the answer does not hold; it goes back"
		}
		return Sentinel, "the answer holds; the run is to be looked at"
	}
	return caller, "the run has ended"
}

// shown returns the items whose content the message may hold.
func (st *step) shown(reply *schemas.RoleReply) []string {
	if reply.Answer != nil && st.role != Synthesizer {
		return cited(reply.Answer)
	}
	if st.context == nil {
		return nil
	}
	ids := make([]string, 0, len(st.context.Payload.Results))
	for i := range st.context.Payload.Results {
		ids = append(ids, st.context.Payload.Results[i].ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// cited returns the items an answer cites, sorted.
func cited(a *schemas.RoleAnswer) []string {
	ids := []string{}
	for i := range a.Sentences {
		for _, c := range a.Sentences[i].Citations {
			ids = append(ids, c.ItemID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
