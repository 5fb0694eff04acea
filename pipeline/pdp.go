package pipeline

import (
	"context"
	"slices"

	"satchel/pipeline/infra/parallel"
	"satchel/pipeline/scope"
	"satchel/policies"
)

// recordingPDP adds the request's id to decisions and keeps what was asked.
type recordingPDP struct {
	policies.PDP
	request string
	asked   [][]policies.Resource // of each decision: items, and the sources of summaries
}

// pdpFor returns the decision point of a request. It decides on summaries by their sources,
// too, and tells r of each decision.
func (e *Engine) pdpFor(r *recordingPDP) policies.PDP {
	r.PDP = e.cfg.PDP
	return policies.Sourced(r, e.cfg.Items.Get)
}

func (p *recordingPDP) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	r.RequestID, r.Unhashed = p.request, true
	p.asked = append(p.asked, r.Resources)
	return p.PDP.Decide(ctx, s, r)
}

// withSources returns the resources and, behind them, what the summaries among them were made
// of, as far as it was asked about.
func (p *recordingPDP) withSources(resources []policies.Resource) []policies.Resource {
	summary := func(r policies.Resource) bool { return len(r.Sources) > 0 }
	if !slices.ContainsFunc(resources, summary) {
		return resources
	}
	listed, asked := make(map[string]bool, len(resources)), map[string]policies.Resource{}
	for i := range resources {
		listed[resources[i].ID] = true
	}
	for _, list := range p.asked {
		for i := range list {
			asked[list[i].ID] = list[i]
		}
	}
	for i := 0; i < len(resources); i++ {
		for _, id := range resources[i].Sources {
			if source, known := asked[id]; known && !listed[id] {
				listed[id] = true
				resources = append(resources, source)
			}
		}
	}
	return resources
}

// inputHash is the input hash of a decision. Only the log needs it, so it is made beside the
// stages that follow the decision. The caller that starts the hash must call wait.
type inputHash struct {
	join func() error // nil: nothing was decided
	hex  string
}

func (h *inputHash) start(s scope.Scope, r policies.Request) {
	h.join = parallel.Start(func() error {
		h.hex = policies.InputHash(s, &r)
		return nil
	})
}

// wait returns the hash, "" when nothing was decided.
func (h *inputHash) wait() (string, error) {
	if h.join == nil {
		return "", nil
	}
	err := h.join()
	return h.hex, err
}
