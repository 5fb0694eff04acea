package isolation

import (
	"encoding/json"
	"fmt"
	"slices"

	"satchel/schemas"
)

// View is what somebody is shown of a run: a role, and, as the synthesizer's, a model. It
// can hold exposed fields and nothing else, and they are set by Show alone, each from the
// one place that it has in a run: snippets from a pack, as policy let its principal see it.
type View struct{ fields schemas.ExposedFields }

// Run is what a view is taken from. What a run does not have yet is its zero value.
type Run struct {
	Task        string
	TokenBudget int
	Plan        *schemas.RolePlan
	Pack        *schemas.ContextResult
	Withheld    []string // items of the pack that are kept back
	Tools       []string // what the verifier keeps from the model
	Answer      *schemas.RoleAnswer
	Metrics     schemas.TokenCostEnvelope
	Findings    []schemas.Finding
}

// Show returns the view with the named fields of a run. A name that is no exposed field is
// ErrClosed.
func Show(run *Run, names []string) (View, error) {
	var v View
	f := &v.fields
	for _, name := range names {
		switch name {
		case "task":
			f.Task = run.Task
		case "token_budget":
			f.TokenBudget = run.TokenBudget
		case "plan":
			if run.Plan != nil {
				f.Plan = slices.Clone(run.Plan.Steps)
			}
		case "pack":
			if run.Pack != nil {
				f.Pack = run.Pack.Payload.PackID
			}
		case "labels":
			f.Labels = Labels(run.Pack)
		case "tools":
			f.Tools = slices.Clone(run.Tools)
		case "answer":
			if run.Answer != nil {
				f.Answer = run.Answer.Text
			}
		case "snippets":
			f.Snippets = listSnippets(run)
		case "metrics":
			metrics := run.Metrics
			f.Metrics = &metrics
		case "findings":
			f.Findings = slices.Clone(run.Findings)
		default:
			return View{}, fmt.Errorf("show field %q: %w", name, ErrClosed)
		}
	}
	return v, nil
}

// Fields returns a copy of the fields.
func (v *View) Fields() schemas.ExposedFields { return v.fields }

// MarshalJSON writes the fields, as a model gets them.
func (v View) MarshalJSON() ([]byte, error) { return json.Marshal(v.fields) }

// Labels are those of a pack's items by id; none without a pack.
func Labels(pack *schemas.ContextResult) map[string]string {
	labels := map[string]string{}
	if pack == nil {
		return labels
	}
	for _, section := range pack.Payload.Pack.Sections {
		for i := range section.Items {
			labels[section.Items[i].ID] = section.Items[i].SecurityLabel
		}
	}
	return labels
}

func listSnippets(run *Run) []schemas.Snippet {
	if run.Pack == nil {
		return nil
	}
	var list []schemas.Snippet
	for i := range run.Pack.Payload.Results {
		r := &run.Pack.Payload.Results[i]
		if !slices.Contains(run.Withheld, r.ID) {
			list = append(list, schemas.Snippet{Number: len(list) + 1, ItemID: r.ID, Text: r.Text(), Flagged: r.Metadata.Flagged})
		}
	}
	return list
}
