package policies

import (
	"context"
	"fmt"
	"slices"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// ReasonSource is the reason of a summary that is denied for what it was made of.
const ReasonSource = "source"

// Sourced returns pdp, but that what it allows to be read or opened of a summary is denied to
// who may not see all that the summary was made of, whole, as that stands now: what a
// redaction takes from a source may stand anywhere in the summary, and labels of a source may
// have been raised since. get reads items by id, without those that
// are not there, which say nothing.
func Sourced(pdp PDP, get func(ctx context.Context, s scope.Scope, ids []string) ([]schemas.Record, error)) PDP {
	return &sourced{pdp, get}
}

type sourced struct {
	PDP
	get func(ctx context.Context, s scope.Scope, ids []string) ([]schemas.Record, error)
}

// Decide decides on the resources and, in the same request, on what summaries among them were
// made of.
func (p *sourced) Decide(ctx context.Context, s scope.Scope, r Request) (Decision, error) {
	summary := func(r Resource) bool { return len(r.Sources) > 0 }
	if r.Action != "read" && r.Action != "open" || !slices.ContainsFunc(r.Resources, summary) {
		return p.PDP.Decide(ctx, s, r)
	}
	asked := len(r.Resources)
	all, at, err := p.collectSources(ctx, s, r.Resources)
	if err != nil {
		return Decision{}, fmt.Errorf("read the sources of summaries: %w", err)
	}
	r.Resources = all
	d, err := p.PDP.Decide(ctx, s, r)
	if err != nil || len(d.Verdicts) != len(all) {
		return d, err
	}
	verdicts := slices.Clone(d.Verdicts[:asked])
	for i := range verdicts {
		if verdicts[i].Allow && !shownWhole(all, at, d.Verdicts, i) {
			verdicts[i] = Verdict{Reason: ReasonSource}
		}
	}
	d.Verdicts = verdicts
	return d, nil
}

// collectSources returns the resources and, behind them, all that the summaries among them were made
// of, down to what is no summary, with the places of these by id.
func (p *sourced) collectSources(ctx context.Context, s scope.Scope, resources []Resource) (all []Resource, at map[string]int, err error) {
	const part = 500 // items read at once
	all = slices.Clone(resources)
	at = map[string]int{}
	for level := resources; len(level) > 0; {
		var ids []string
		for i := range level {
			for _, id := range level[i].Sources {
				if _, seen := at[id]; !seen {
					at[id] = -1 // until it is read
					ids = append(ids, id)
				}
			}
		}
		from := len(all)
		for some := range slices.Chunk(ids, part) {
			records, err := p.get(ctx, s, some)
			if err != nil {
				return nil, nil, err
			}
			for i := range records {
				at[records[i].ID] = len(all)
				all = append(all, ResourceOf(&records[i]))
			}
		}
		level = all[from:]
	}
	return all, at, nil
}

// shownWhole reports whether the verdicts on all that a summary was made of allow what the one
// on the summary shows.
func shownWhole(all []Resource, at map[string]int, verdicts []Verdict, summary int) bool {
	own := &verdicts[summary]
	seen := map[int]bool{}
	for open := []int{summary}; len(open) > 0; {
		var next []int
		for _, from := range open {
			for _, id := range all[from].Sources {
				i := at[id]
				if i < 0 || seen[i] {
					continue
				}
				seen[i] = true
				v := &verdicts[i]
				if !v.Allow || len(v.Redact) > 0 || !own.Obligations.Covers(v.Obligations) {
					return false
				}
				next = append(next, i)
			}
		}
		open = next
	}
	return true
}
