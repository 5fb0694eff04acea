package roles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"satchel/pipeline/store/eventlog"
	"satchel/schemas"
)

// handover is a hand-over as it stands in the log.
type handover struct {
	schemas.Handover
	position int64
}

// message is what is handed over. The hashes in the hand-over take in its salt, which goes with it.
type message struct {
	Salt string `json:"salt"` // hex, 32 random bytes
	*schemas.RoleReply
}

// handOver commits what the role hands to the next.
func (st *step) handOver(ctx context.Context, reply *schemas.RoleReply, external bool) (handover, error) {
	salt, err := st.cfg.Log.Salt()
	if err != nil {
		return handover{}, newUnloggedError()
	}
	if reply.Answer != nil && st.role == Synthesizer {
		reply.Answer.Invocation.Salt = hex.EncodeToString(salt[:])
	}
	message, err := json.Marshal(message{hex.EncodeToString(salt[:]), withoutContent(reply)})
	if err != nil {
		return handover{}, fmt.Errorf("encode hand-over: %w", err)
	}
	to, reason := chooseNextRole(st.role, reply)
	reply.Next = to
	body := eventlog.Derive(st.listShownItems(reply), message)
	h := schemas.Handover{
		ID: st.id, RequestID: st.req.RequestID, From: st.role, To: to, PackID: reply.PackID, Reason: reason,
		Principal: st.s.Principal().ID, CreatedAt: st.cfg.Clock().UTC(), Policy: st.policy, MessageSHA256: body.Hex(), External: external,
		Findings: reply.Findings,
	}
	if reply.Plan != nil {
		h.Steps = len(reply.Plan.Steps)
	}
	if reply.Answer != nil {
		h.Cited = listCitedItems(reply.Answer)
		if st.role == Synthesizer {
			invocation := reply.Answer.Invocation.Logged(salt[:])
			h.Invocation = &invocation
		}
	}
	if reply.Verification != nil {
		h.Checks = reply.Verification.Checks
	}
	if external {
		withoutForeignWords(&h)
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
		Time: h.CreatedAt, Data: data, Attachment: body,
		Extensions: map[string]string{"datacontenttype": "application/json", "dataschema": schemas.DataSchema(schemas.TypeRoleHandedOver)},
	}
	outcomes, err := st.cfg.Log.Append(ctx, eventlog.Batch{Drafts: []eventlog.Draft{draft}})
	if err == nil && len(outcomes) == 1 && outcomes[0].Status == eventlog.IDConflict { // the run was begun meanwhile
		if err := st.claimRun(ctx); err != nil {
			return handover{}, err
		}
		st.id = st.cfg.IDs()
		reply.Next = "" // by this principal
		return st.handOver(ctx, reply, external)
	}
	if err != nil || len(outcomes) != 1 || outcomes[0].Status != eventlog.Appended && outcomes[0].Status != eventlog.Absent {
		return handover{}, newUnloggedError()
	}
	reply.Position = outcomes[0].Position
	return handover{h, outcomes[0].Position}, nil
}

func newUnloggedError() error {
	return &schemas.Error{Code: schemas.CodeStorage, Message: "the hand-over could not be logged, so the run ends"}
}

// claimRun makes sure that the run is this principal's: who hands over first owns it. That
// hand-over's id is made of the run's, so that the log itself takes one alone.
func (st *step) claimRun(ctx context.Context) error {
	if st.begun {
		return nil
	}
	entries, err := st.cfg.Log.BySubject(ctx, st.s, st.req.RequestID, schemas.TypeRoleHandedOver)
	if err != nil {
		return &schemas.Error{Code: schemas.CodeStorage, Message: "the log could not be read"}
	}
	if len(entries) == 0 {
		st.id = "run." + hashBytes([]byte(st.req.RequestID))
		return nil
	}
	var first schemas.Handover
	if err := json.Unmarshal(entries[0].Data, &first); err != nil || first.Principal != st.s.Principal().ID {
		return st.newForeignError()
	}
	return nil
}

func (st *step) newForeignError() error {
	return &schemas.Error{Code: schemas.CodePolicyDenied, Field: "/request_id", Message: "names a run of another"}
}

// chooseNextRole says which role follows, and why.
func chooseNextRole(role string, reply *schemas.RoleReply) (to, reason string) {
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

// listShownItems returns the items whose content the message may hold: the items of the context and those
// that an answer cites.
func (st *step) listShownItems(reply *schemas.RoleReply) []string {
	var ids []string
	if reply.Answer != nil {
		ids = listCitedItems(reply.Answer)
	}
	if st.context != nil {
		for i := range st.context.Payload.Results {
			ids = append(ids, st.context.Payload.Results[i].ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// withoutContent returns the reply as it is handed over. It has ids and labels of the selected
// items and of their artifacts, and no titles, names or extracts.
func withoutContent(reply *schemas.RoleReply) *schemas.RoleReply {
	if reply.State == nil {
		return reply
	}
	out := *reply
	state := *reply.State
	state.SelectedContext = slices.Clone(state.SelectedContext)
	for i := range state.SelectedContext {
		state.SelectedContext[i].Title = ""
	}
	state.Sandboxes = slices.Clone(state.Sandboxes)
	for i := range state.Sandboxes {
		state.Sandboxes[i].Name = ""
		state.Sandboxes[i].Extract = ""
	}
	out.State = &state
	return &out
}

// modelName matches the names of models that the log takes from another process.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$`)

// withoutForeignWords removes free text of another process from an entry's data: the text may
// repeat an item. The message has it, and an erasure takes the message away.
func withoutForeignWords(h *schemas.Handover) {
	if h.Invocation != nil && !modelName.MatchString(h.Invocation.Model) {
		h.Invocation.Model = elsewhere
	}
	h.Checks = slices.Clone(h.Checks)
	for i := range h.Checks {
		if c := &h.Checks[i]; strings.HasPrefix(c.Name, elsewhere+".") {
			c.Name = elsewhere
			c.Detail = ""
		}
	}
	h.Findings = slices.Clone(h.Findings)
	for i := range h.Findings {
		f := &h.Findings[i]
		if !slices.Contains(schemas.Anomalies(), f.Anomaly) {
			f.Anomaly = elsewhere
		}
		f.Subject = elsewhere
		f.Detail = ""
	}
}

// listCitedItems returns the items an answer cites, sorted. It leaves out citations that are no item's id.
func listCitedItems(a *schemas.RoleAnswer) []string {
	ids := []string{}
	for i := range a.Sentences {
		for _, c := range a.Sentences[i].Citations {
			if schemas.ValidID(c.ItemID) {
				ids = append(ids, c.ItemID)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func hashBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
