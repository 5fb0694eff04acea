package roles

import (
	"context"
	"slices"
	"time"

	"satchel/pipeline/isolation"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// run is one walk.
type run struct {
	*Runner
	s       scope.Scope
	req     schemas.RunRequest
	started time.Time
	begun   bool // it is known to be this principal's

	context *schemas.ContextResult
	out     schemas.RunReply
	cost    float64 // of the models so far
}

// Run walks the roles. An answer that does not hold goes back once, to be made of
// sentences of the context; when that does not hold either, nothing leaves. Every error
// is a *schemas.Error; what was done until then is in the log.
func (c *Runner) Run(ctx context.Context, s scope.Scope, req schemas.RunRequest) (schemas.RunReply, error) {
	if err := schemas.Invalid(req.Validate()); err != nil {
		return schemas.RunReply{}, err
	}
	begun := req.RequestID == ""
	if begun {
		req.RequestID = c.cfg.IDs()
	}
	r := &run{Runner: c, s: s, req: req, begun: begun, started: c.cfg.Clock(), out: schemas.RunReply{
		RequestID: req.RequestID, Checks: []schemas.Check{}, Withheld: []string{}, Findings: []schemas.Finding{},
		Handovers: []schemas.Handover{}, Positions: []int64{}, Warnings: []string{},
	}}
	if err := r.walkRoles(ctx); err != nil {
		return schemas.RunReply{}, makeCallerError(ctx, err)
	}
	r.out.Metrics.LatencyMS = isolation.Took(s, c.cfg.Clock().Sub(r.started))
	return r.out, nil
}

func (r *run) walkRoles(ctx context.Context) error {
	planned, err := r.playRole(ctx, Planner, false, schemas.RoleRequest{TokenBudget: r.req.TokenBudget})
	if err != nil {
		return err
	}
	after := r.req.MinPosition
	if after > 0 { // who asks for a position gets the same context every time: of the log as this run found it
		after = max(after, planned.Position)
	}
	found, err := r.playRole(ctx, Retriever, false, schemas.RoleRequest{TokenBudget: r.req.TokenBudget, MinPosition: after, Plan: planned.Plan})
	if err != nil {
		return err
	}
	r.out.PackID = found.PackID
	looked, err := r.playRole(ctx, Verifier, false, schemas.RoleRequest{PackID: found.PackID})
	if err != nil {
		return err
	}
	if err := r.keepVerification(looked.Verification, "the context"); err != nil {
		return err
	}
	if err := r.answerFromContext(ctx, planned.Plan); err != nil {
		return err
	}
	watched, err := r.playRole(ctx, Sentinel, false, schemas.RoleRequest{PackID: found.PackID})
	if err != nil {
		return err
	}
	if watched.Findings != nil {
		r.out.Findings = watched.Findings
	}
	return nil
}

// answerFromContext has the context answered from and the answer verified; what does not hold is
// made again of sentences of the context.
func (r *run) answerFromContext(ctx context.Context, plan *schemas.RolePlan) error {
	for _, extractive := range []bool{false, true} {
		written, err := r.playRole(ctx, Synthesizer, extractive, schemas.RoleRequest{PackID: r.out.PackID, Plan: plan, Withheld: r.out.Withheld})
		if err != nil {
			return err
		}
		held, err := r.playRole(ctx, Verifier, false, schemas.RoleRequest{PackID: r.out.PackID, Withheld: r.out.Withheld, Answer: written.Answer})
		if err != nil {
			return err
		}
		err = r.keepVerification(held.Verification, "the answer")
		if err == nil {
			r.out.Answer = written.Answer
			return nil
		}
		if extractive || written.Answer.Invocation.Model == Extractive {
			return err
		}
		r.out.Warnings = append(r.out.Warnings, "verifier: the first answer did not hold and was sent back")
	}
	return nil
}

// keepVerification keeps a verification; one that failed ends what it is about.
func (r *run) keepVerification(v *schemas.Verification, what string) error {
	if v == nil {
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: what + " was not verified, so nothing may leave"}
	}
	if !v.OK {
		for _, c := range v.Checks {
			if !c.OK {
				return &schemas.Error{Code: schemas.CodePolicyDenied, Message: what + " did not pass the verifier (" + c.Name + "): " + c.Detail}
			}
		}
		return &schemas.Error{Code: schemas.CodePolicyDenied, Message: what + " did not pass the verifier"}
	}
	r.out.Checks = append(r.out.Checks, v.Checks...)
	r.out.Withheld = append(r.out.Withheld, v.Withheld...)
	slices.Sort(r.out.Withheld)
	r.out.Withheld = slices.Compact(r.out.Withheld)
	return nil
}

// playRole has a role played, here or elsewhere, and notes the hand-over.
func (r *run) playRole(ctx context.Context, role string, extractive bool, req schemas.RoleRequest) (schemas.RoleReply, error) {
	req.RequestID, req.Task, req.Session, req.TZ, req.Purpose = r.req.RequestID, r.req.Task, r.req.Session, r.req.TZ, r.s.Purpose()
	st := &step{Runner: r.Runner, s: r.s, role: role, req: req, context: r.context, extractive: extractive, begun: r.begun}
	act := st.playStep
	if r.cfg.Remote[role] != nil && !extractive {
		act = st.playElsewhere
	}
	reply, h, err := act(ctx)
	if err != nil {
		return reply, err
	}
	r.begun = true
	if st.context != nil {
		r.context = st.context
	}
	r.out.Handovers = append(r.out.Handovers, h.Handover)
	r.out.Positions = append(r.out.Positions, h.position)
	r.out.Warnings = append(r.out.Warnings, reply.Warnings...)
	if st.metrics.TokenBudget > 0 {
		r.out.Metrics = st.metrics
	}
	if h.Invocation != nil {
		r.cost += r.cfg.Prices.Cost(*h.Invocation)
	}
	r.out.Metrics.Cost = r.cost
	return reply, nil
}
