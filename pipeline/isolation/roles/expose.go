package roles

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/isolation"
	"satchel/schemas"
)

// listRoleFields returns the fields a role may be shown, in a fixed order.
func listRoleFields(role string) []string {
	switch role {
	case Planner:
		return []string{"task", "token_budget"}
	case Retriever:
		return []string{"task", "token_budget", "plan"}
	case Verifier:
		return []string{"pack", "labels", "tools", "answer"}
	case Synthesizer:
		return []string{"task", "plan", "snippets"}
	case Sentinel:
		return []string{"metrics", "findings"}
	}
	return nil
}

// Whitelist returns the fields a role may be shown.
func Whitelist(role string) []string { return slices.Clone(listRoleFields(role)) }

// allowedFields refuses a message that holds, or wants, a field outside the role's
// whitelist. What names the run (from, request_id, task, session, purpose) every role
// has: it is in the envelope.
func allowedFields(role string, req *schemas.RoleRequest) error {
	given := []struct {
		pointer string
		there   bool
		roles   []string
	}{
		{"/token_budget", req.TokenBudget != 0, []string{Planner, Retriever}},
		{"/min_position", req.MinPosition != 0, []string{Retriever}},
		{"/plan", req.Plan != nil, []string{Retriever, Synthesizer}},
		{"/pack_id", req.PackID != "", []string{Verifier, Synthesizer, Sentinel}},
		{"/withheld", len(req.Withheld) > 0, []string{Verifier, Synthesizer}},
		{"/answer", req.Answer != nil, []string{Verifier}},
	}
	for _, g := range given {
		if g.there && !slices.Contains(g.roles, role) {
			return newOutsideError(role, g.pointer)
		}
	}
	for i, name := range req.Expose {
		if !slices.Contains(listRoleFields(role), name) {
			return newOutsideError(role, fmt.Sprintf("/expose/%d", i))
		}
	}
	return nil
}

func newOutsideError(role, pointer string) error {
	return &schemas.Error{Code: schemas.CodePolicyDenied, Field: pointer,
		Message: "is outside the whitelist of the " + role + ", which has " + strings.Join(listRoleFields(role), ", ")}
}

// describeRun is what the step knows of its run, for who is shown some of it.
func (st *step) describeRun(reply *schemas.RoleReply) *isolation.Run {
	r := &isolation.Run{Task: st.req.Task, TokenBudget: st.req.TokenBudget, Plan: cmp.Or(reply.Plan, st.req.Plan), Pack: st.context, Withheld: st.req.Withheld,
		Answer: st.req.Answer, Metrics: st.metrics, Findings: reply.Findings}
	if reply.Verification != nil {
		r.Tools = reply.Verification.Withheld
	}
	if r.Plan == nil && st.role == Synthesizer {
		r.Plan = &schemas.RolePlan{Steps: []schemas.PlanStep{{ID: "1", Question: st.req.Task}}}
	}
	return r
}

// prepareView takes what a model, or whoever plays the role elsewhere, has to work on.
func (st *step) prepareView() (err error) {
	st.view, err = isolation.Show(st.describeRun(&schemas.RoleReply{}), listRoleFields(st.role))
	return err
}

// makeRuntimeState is the run as the role sees it: references, and of the fields in its whitelist
// those that were asked for.
func (st *step) makeRuntimeState(reply *schemas.RoleReply) (*schemas.RuntimeState, error) {
	wanted := listRoleFields(st.role)
	if len(st.req.Expose) > 0 {
		wanted = st.req.Expose
	}
	view, err := isolation.Show(st.describeRun(reply), wanted)
	if err != nil {
		return nil, err
	}
	out := &schemas.RuntimeState{
		Session: schemas.SessionMetadata{ID: st.req.Session, Tenant: st.s.Tenant(), Principal: st.s.Principal().ID, Purpose: st.s.Purpose(),
			StartedAt: st.started.UTC(), RequestID: st.req.RequestID},
		SelectedContext: []schemas.PackMetadata{}, ExposedFields: view.Fields(), Sandboxes: []schemas.SandboxRef{},
		Policies: []schemas.AppliedPolicy{st.policy}, Metrics: st.metrics,
	}
	if st.context == nil {
		return out, nil
	}
	labels := isolation.Labels(st.context)
	for i := range st.context.Payload.Results {
		r := &st.context.Payload.Results[i]
		if slices.Contains(st.req.Withheld, r.ID) {
			continue
		}
		out.SelectedContext = append(out.SelectedContext, schemas.PackMetadata{ID: r.ID, Title: titleOf(r), SecurityLabel: labels[r.ID]})
		if r.Metadata.Artifact != nil {
			out.Sandboxes = append(out.Sandboxes, *r.Metadata.Artifact)
		}
	}
	return out, nil
}

// titleOf is the first words of a content, "" of one that is to be quoted.
func titleOf(r *schemas.ResultItem) string {
	if r.Metadata.Flagged != "" {
		return ""
	}
	return firstWords(r.Content.Text())
}

// firstWords is the first words of a text.
func firstWords(text string) string {
	words := strings.Fields(text)
	if len(words) > 8 {
		words = append(words[:8:8], "…")
	}
	return strings.Join(words, " ")
}
