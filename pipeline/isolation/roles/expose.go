package roles

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"satchel/schemas"
)

// whitelist returns the fields a role may be shown, in a fixed order.
func whitelist(role string) []string {
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
func Whitelist(role string) []string { return slices.Clone(whitelist(role)) }

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
			return outside(role, g.pointer)
		}
	}
	for i, name := range req.Expose {
		if !slices.Contains(whitelist(role), name) {
			return outside(role, fmt.Sprintf("/expose/%d", i))
		}
	}
	return nil
}

func outside(role, pointer string) error {
	return &schemas.Error{Code: schemas.CodePolicyDenied, Field: pointer,
		Message: "is outside the whitelist of the " + role + ", which has " + strings.Join(whitelist(role), ", ")}
}

// state is the run as the role sees it: references, and of the fields in its whitelist
// those that were asked for.
func (st *step) state(reply *schemas.RoleReply) (*schemas.RuntimeState, error) {
	wanted := whitelist(st.role)
	if len(st.req.Expose) > 0 {
		wanted = st.req.Expose
	}
	out := &schemas.RuntimeState{
		Session: schemas.SessionMetadata{ID: st.req.Session, Tenant: st.s.Tenant(), Principal: st.s.Principal().ID, Purpose: st.s.Purpose(),
			StartedAt: st.started.UTC(), RequestID: st.req.RequestID},
		SelectedContext: []schemas.PackMetadata{}, ExposedFields: map[string]any{}, Sandboxes: []schemas.SandboxRef{},
		Policies: []schemas.AppliedPolicy{st.policy}, Metrics: st.metrics,
	}
	labels := map[string]string{}
	if st.context != nil {
		for _, section := range st.context.Payload.Pack.Sections {
			for i := range section.Items {
				labels[section.Items[i].ID] = section.Items[i].SecurityLabel
			}
		}
		for i := range st.context.Payload.Results {
			r := &st.context.Payload.Results[i]
			if slices.Contains(st.req.Withheld, r.ID) {
				continue
			}
			out.SelectedContext = append(out.SelectedContext, schemas.PackMetadata{ID: r.ID, Title: title(r.Content.Text()), SecurityLabel: labels[r.ID]})
			if r.Metadata.Artifact != nil {
				out.Sandboxes = append(out.Sandboxes, *r.Metadata.Artifact)
			}
		}
	}
	for _, name := range wanted {
		if v := st.field(name, reply, labels); v != nil {
			out.ExposedFields[name] = v
		}
	}
	return out, nil
}

// field returns one exposed field; nil when the run does not have it.
func (st *step) field(name string, reply *schemas.RoleReply, labels map[string]string) any {
	switch name {
	case "task":
		return st.req.Task
	case "token_budget":
		return st.req.TokenBudget
	case "plan":
		if plan := firstPlan(reply.Plan, st.req.Plan); plan != nil {
			return plan.Steps
		}
	case "pack":
		return st.req.PackID
	case "labels":
		return labels
	case "tools":
		if reply.Verification != nil {
			return reply.Verification.Withheld
		}
	case "answer":
		if st.req.Answer != nil {
			return st.req.Answer.Text
		}
	case "snippets":
		if st.payload != nil {
			return st.payload.snippets
		}
	case "metrics":
		return st.metrics
	case "findings":
		return reply.Findings
	}
	return nil
}

func firstPlan(plans ...*schemas.RolePlan) *schemas.RolePlan {
	for _, p := range plans {
		if p != nil {
			return p
		}
	}
	return nil
}

// title is the first words of a text.
func title(text string) string {
	words := strings.Fields(text)
	if len(words) > 8 {
		words = append(words[:8:8], "…")
	}
	return strings.Join(words, " ")
}

// Snippet is a piece of the context as the model sees it.
type Snippet struct {
	Number int    `json:"n"`
	ItemID string `json:"item"`
	Text   string `json:"text"`
}

// Payload is everything a model is shown beside the instructions. Its fields are set by
// newPayload alone, from what a pack shows of items that were not withheld.
type Payload struct {
	task     string
	steps    []schemas.PlanStep
	snippets []Snippet
}

// MarshalJSON writes the payload as the model gets it.
func (p *Payload) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Task     string             `json:"task"`
		Steps    []schemas.PlanStep `json:"steps"`
		Snippets []Snippet          `json:"snippets"`
	}{p.task, p.steps, p.snippets})
}

func newPayload(req *schemas.RoleRequest, pack *schemas.ContextResult) *Payload {
	p := &Payload{task: req.Task, steps: []schemas.PlanStep{{ID: "1", Question: req.Task}}, snippets: []Snippet{}}
	if req.Plan != nil {
		p.steps = req.Plan.Steps
	}
	for i := range pack.Payload.Results {
		r := &pack.Payload.Results[i]
		if slices.Contains(req.Withheld, r.ID) {
			continue
		}
		p.snippets = append(p.snippets, Snippet{Number: len(p.snippets) + 1, ItemID: r.ID, Text: r.Content.Text()})
	}
	return p
}
