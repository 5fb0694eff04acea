package pipeline

import (
	"context"

	"satchel/pipeline/aside"
	"satchel/pipeline/scope"
	"satchel/policies"
)

// heard passes a decision's warnings on to the requester, and the request's id to the
// decision.
type heard struct {
	policies.PDP
	warnings *[]string
	request  string
	hash     *inputHash // nil: nobody asks for it
}

// asking returns what decides for the turn: on summaries by what they were made of, too.
func (t *turn) asking(h heard) policies.PDP {
	h.PDP, h.request = t.e.cfg.PDP, t.request
	return policies.Sourced(&h, t.e.cfg.Items.Get)
}

// Decide decides and notes the warnings. The input hash is made beside it.
func (h *heard) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	r.RequestID, r.Unhashed = h.request, true
	if h.hash != nil {
		if err := h.hash.start(s, r); err != nil {
			return policies.Decision{}, err
		}
	}
	d, err := h.PDP.Decide(ctx, s, r)
	*h.warnings = append(*h.warnings, d.Warnings...)
	return d, err
}

// inputHash is the input hash of a turn's decision, which nothing needs before it is logged:
// it is made beside what follows the decision. Whoever starts it waits for it.
type inputHash struct {
	join func() error // nil: nothing was decided
	hex  string
}

func (h *inputHash) start(s scope.Scope, r policies.Request) error {
	if _, err := h.wait(); err != nil {
		return err
	}
	h.join = aside.Do(func() error {
		h.hex = policies.InputHash(s, &r)
		return nil
	})
	return nil
}

// wait returns the hash, "" when nothing was decided.
func (h *inputHash) wait() (string, error) {
	if h.join == nil {
		return "", nil
	}
	err := h.join()
	return h.hex, err
}
