package roles

import (
	"context"

	"satchel/schemas"
)

// elsewhere replaces free text of another process in the log.
const elsewhere = "elsewhere"

// playElsewhere has another process play the role. It is sent what the role may see, and
// no more. What it answers is taken as a stranger's: a plan is validated, a pack must be
// one that this principal may open, an answer is verified, and beside its verification
// stands Satchel's own.
func (st *step) playElsewhere(ctx context.Context) (schemas.RoleReply, handover, error) {
	st.started, st.id = st.cfg.Clock(), st.cfg.IDs()
	if err := st.admitMessage(ctx); err != nil {
		return schemas.RoleReply{}, handover{}, err
	}
	if st.req.PackID != "" {
		if err := st.ensurePackOpen(ctx); err != nil {
			return schemas.RoleReply{}, handover{}, err
		}
	}
	state, err := st.makeRuntimeState(&schemas.RoleReply{})
	if err != nil {
		return schemas.RoleReply{}, handover{}, err
	}
	message := st.req
	message.State = state
	got, err := st.cfg.Remote[st.role].Execute(ctx, st.s, st.role, message)
	if err != nil {
		return schemas.RoleReply{}, handover{}, err
	}
	reply := schemas.RoleReply{Role: st.role, RequestID: st.req.RequestID, PackID: st.req.PackID, Warnings: []string{}}
	if err := st.acceptReply(ctx, &got, &reply); err != nil {
		return schemas.RoleReply{}, handover{}, err
	}
	h, err := st.handOver(ctx, &reply, true)
	return reply, h, err
}

// acceptReply takes of a stranger's reply what the role has to give.
func (st *step) acceptReply(ctx context.Context, got, reply *schemas.RoleReply) error {
	missing := &schemas.Error{Code: schemas.CodeValidation, Message: "the " + st.role + " in another process did not do its work"}
	if got.RequestID != "" && got.RequestID != st.req.RequestID {
		return missing
	}
	switch st.role {
	case Planner:
		next := schemas.RoleRequest{Task: st.req.Task, Plan: got.Plan}
		if got.Plan == nil || len(next.Validate()) > 0 {
			return missing
		}
		reply.Plan = got.Plan
	case Retriever:
		st.req.PackID = got.PackID
		st.context = nil
		if err := st.ensurePackOpen(ctx); err != nil {
			return err
		}
		reply.PackID = got.PackID
	case Synthesizer:
		if got.Answer == nil {
			return missing
		}
		if got.Answer.Invocation.Model == "" || got.Answer.Invocation.Model == Extractive {
			got.Answer.Invocation.Model = elsewhere
		}
		reply.Answer = got.Answer
	case Verifier:
		own, err := st.makeVerification(ctx)
		if err != nil {
			return err
		}
		if got.Verification == nil {
			return missing
		}
		own.OK = own.OK && got.Verification.OK
		for _, c := range got.Verification.Checks {
			c.Name = elsewhere + "." + c.Name
			own.Checks = append(own.Checks, c)
		}
		if !got.Verification.OK && len(got.Verification.Checks) == 0 {
			own.Checks = append(own.Checks, schemas.Check{Name: elsewhere, Checked: 1, Failed: 1, Detail: "the verifier in another process refuses"})
		}
		own.Withheld = append(own.Withheld, got.Verification.Withheld...)
		reply.Verification = own
		reply.Answer = st.req.Answer
	case Sentinel:
		reply.Findings = got.Findings
	}
	return nil
}
