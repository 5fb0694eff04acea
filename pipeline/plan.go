package pipeline

import (
	"context"
	"fmt"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection"
	"satchel/schemas"
)

// Plan is the search of a request.
type Plan struct {
	Query     selection.Query // of the operations that ask one query, without its filter
	Asked     schemas.Filter  // what the client narrows the query to
	Pushdown  Pushdown
	Narrowing Narrowing
	Exclude   []string                // ids to search as if they were not there: policy denies them
	Relevance *schemas.RelevanceTrace // nil: the client asked for everything
	Tokens    int                     // that the text may take
	AsOf      int64
	// ShownWhole is the query's of the same name: set for a principal who holds a role.
	ShownWhole func(context.Context, []schemas.Record) []string
	StandsFor  func(v, older *candidate.Visible) bool // the query's of the same name
	Notes      Notes
}

// Pushdown is the part of the policy that the indexes evaluate.
type Pushdown struct {
	Filter schemas.Filter // what an item must pass to be looked at
	// Population is what the policy lets the principal see. Statistics are of these items. It is
	// narrower than Filter where an exception lets the principal see more.
	Population schemas.Filter
}

// Narrowing is how a client narrows a request, beside the question.
type Narrowing struct {
	Filtered   bool // by more than the kind and type of items
	MinMatches int  // how many items must satisfy the filters; 0: the nearest alone are tried
}

// IsSet reports whether the client narrows at all.
func (n Narrowing) IsSet() bool { return n.Filtered || n.MinMatches > 0 }

// Narrow is the plan's query under a filter of the operation.
func (p *Plan) Narrow(asked schemas.Filter) selection.Query {
	q := p.Query
	q.Filter = asked.And(p.Pushdown.Filter)
	q.Population = p.Pushdown.Population
	q.Exclude = p.Exclude
	q.ShownWhole = p.ShownWhole
	q.StandsFor = p.StandsFor
	return q
}

// without returns the plan of a search as if the items were not there.
func (p Plan) without(denied []candidate.Denied) Plan {
	p.Exclude = slices.Clone(p.Exclude)
	for _, d := range denied {
		p.Exclude = append(p.Exclude, d.ID)
	}
	return p
}

// Planning makes plans.
type Planning struct{ judge *Judging }

// Begin makes the plan that every operation begins with: the filter of the policy.
func (p *Planning) Begin(ctx context.Context, req Request, snap Snapshot) (Plan, error) {
	filter, err := p.judge.PDP.Filter(ctx, req.Scope, selection.ActionRead)
	if err != nil {
		return Plan{}, PolicyDown(ctx, err)
	}
	plan := Plan{Asked: schemas.MatchAll(), Pushdown: Pushdown{Filter: filter, Population: filter}, AsOf: snap.AsOf, StandsFor: p.judge.defenses.MayStandFor, Tokens: req.Limits.Tokens, Notes: snap.Notes}
	who := req.Scope.Principal()
	if len(who.Roles) > 0 {
		plan.ShownWhole = p.judge.Visibility(req).ShownWhole
	}
	if who.Unregistered {
		plan.Notes = plan.Notes.With(fmt.Sprintf("principal %q is not in the registry of tenant %q and counts as public", who.ID, req.Scope.Tenant()))
	}
	if filter.IsNone() {
		plan.Notes = plan.Notes.With("policy lets this principal see nothing here")
	} else if x, ok := p.judge.PDP.(excepting); ok && len(filter.Conds()) == 0 {
		if plan.Pushdown.Population, err = x.Unexcepted(ctx, req.Scope, selection.ActionRead); err != nil {
			return Plan{}, PolicyDown(ctx, err)
		}
	}
	return plan, nil
}

// excepting is a decision point whose filter may be wider than its policy's.
type excepting interface {
	Unexcepted(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error)
}
