package pipeline

import (
	"context"

	"satchel/pipeline/scope"
	"satchel/policies"
)

// heard passes a decision's warnings on to the requester, and the request's id to the
// decision.
type heard struct {
	policies.PDP
	warnings *[]string
	request  string
}

// Decide decides and notes the warnings.
func (h *heard) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	r.RequestID = h.request
	d, err := h.PDP.Decide(ctx, s, r)
	*h.warnings = append(*h.warnings, d.Warnings...)
	return d, err
}
