package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection"
	"satchel/pipeline/store/items"
	"satchel/schemas"
)

// Authorized is what retrieval found and what policy lets the principal see of it. Every later
// stage takes from a record only that.
type Authorized struct {
	Retrieved
	Named []candidate.Candidate  // of Retrieved.Named, those that the principal may see
	Seen  []candidate.Authorized // of each pool, in the order of its records
	By    *authorizer            // decided, and decides on what rank finds over links
	// Removed lists, by the id of each item whose content redaction changed, the texts that it
	// took away. Only operations with TrackRedactions have it.
	Removed map[string][]string

	newlyDenied []candidate.Denied
}

// wantsMore reports whether a further search may find more that satisfies the client's filters.
func (a *Authorized) wantsMore(plan Plan) bool {
	if plan.Narrowing.MinMatches == 0 || len(a.Pools) != 1 || !a.Pools[0].More() {
		return false
	}
	matches := 0
	for _, v := range a.Seen[0].Visible {
		aside := v != nil && v.Kind == schemas.KindTool && plan.Query.Tools > 0 // tools take no place of the limit
		if v != nil && !aside && plan.Query.Wants(v) {
			matches++
		}
	}
	return matches < min(plan.Narrowing.MinMatches, plan.Query.Limit)
}

// authorizer has policy decide for one request. It decides on each item once.
type authorizer struct {
	*selection.Authorizer
	pdp *recordingPDP
}

func (e *Engine) newAuthorizer(req Request) *authorizer {
	pdp := &recordingPDP{request: req.ID}
	return &authorizer{pdp: pdp, Authorizer: selection.NewAuthorizer(req.Scope, selection.AuthorizerConfig{
		PDP: e.pdpFor(pdp), Sanitizer: e.cfg.Sanitizer, Registry: e.cfg.Registry, Now: req.Times.Policy, Decision: e.cfg.IDs(),
	})}
}

// authorize has policy decide on everything that was found.
func (a *authorizer) authorize(ctx context.Context, spec Spec, found Retrieved) (Authorized, error) {
	before := len(a.Denied())
	records := found.records()
	all, err := a.Authorize(ctx, records)
	if err != nil {
		return Authorized{}, policyDown(ctx, err)
	}
	out := Authorized{Retrieved: found, By: a, newlyDenied: a.Denied()[before:]}
	out.Notes = out.Notes.With(a.Warnings()...)
	n := len(found.Named)
	for i := range n {
		if v := all.Visible[i]; v != nil {
			out.Named = append(out.Named, candidate.New(v, *all.Verdicts[i]))
		}
	}
	from := n
	out.Seen = make([]candidate.Authorized, len(found.Pools))
	for i, p := range found.Pools {
		if p.Pool != nil {
			to := from + len(p.Records())
			out.Seen[i] = candidate.Authorized{Visible: all.Visible[from:to], Verdicts: all.Verdicts[from:to], Own: all.Own[from:to]}
			from = to
		}
	}
	if spec.TrackRedactions {
		out.Removed = removedTexts(records, all)
	}
	return out, nil
}

// policyDown is the error of a request that policy gave no verdict on. It is the request's
// deadline where that is spent.
func policyDown(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	down := &schemas.Error{Code: schemas.CodePolicyDenied, Undecided: true, Message: "policy gave no verdict, so nothing may leave"}
	return fmt.Errorf("%w: %w", down, cause)
}

// removedTexts lists what redaction took from the items that are shown in part.
func removedTexts(records []*items.Lent, seen candidate.Authorized) map[string][]string {
	out := map[string][]string{}
	for i, v := range seen.Visible {
		if v == nil || !v.Masked {
			continue
		}
		old, now := records[i].Content, v.Content.Text()
		if old.Text() == now {
			continue
		}
		texts, shortest := strings.Fields(old.Text()), 6
		var tree any
		if old.Raw() != nil {
			texts, shortest = nil, 4
			if json.Unmarshal(old.Raw(), &tree) == nil {
				texts = valuesOf(tree)
			}
		}
		removed := slices.DeleteFunc(texts, func(text string) bool {
			return len(text) < shortest || strings.Contains(now, text)
		})
		if old.Raw() == nil {
			removed = append(removed, old.Text())
		}
		out[v.ID] = removed
	}
	return out
}

// valuesOf returns the texts and numbers of a JSON value.
func valuesOf(v any) []string {
	var out []string
	switch x := v.(type) {
	case map[string]any:
		for _, child := range x {
			out = append(out, valuesOf(child)...)
		}
	case []any:
		for _, child := range x {
			out = append(out, valuesOf(child)...)
		}
	case nil, bool:
	default:
		out = append(out, fmt.Sprint(x))
	}
	return out
}
