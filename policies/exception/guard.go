package exception

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

// ReasonException is the reason of a verdict that an exception lifted.
const ReasonException = "exception"

// Warnings of the guard.
const (
	warnUnlogged = "policy: a governed exception could not be logged, so it does not count"
)

// Guard is a policy decision point that lets live exceptions lift what another one
// denies. It is safe for concurrent use when the others are.
type Guard struct {
	policies.PDP
	registry *Registry
}

// NewGuard returns a guard over pdp.
func NewGuard(pdp policies.PDP, registry *Registry) *Guard {
	return &Guard{PDP: pdp, registry: registry}
}

// Filter returns the policy's filter, or all of the tenant when an exception may lift a
// denial of some item for who asks.
func (g *Guard) Filter(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error) {
	f, err := g.Unexcepted(ctx, s, action)
	if err == nil && slices.ContainsFunc(g.registry.findMatching(ctx, s, action), func(h *held) bool { return reasonOf(h.Path) != reasonPII }) {
		return schemas.MatchAll(), nil
	}
	return f, err
}

// Unexcepted is the filter as if no exception let anything through.
func (g *Guard) Unexcepted(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error) {
	return g.PDP.Filter(ctx, s, action)
}

// Decide returns the policy's verdicts, with what live exceptions lift lifted. Every
// use is in the log when it returns.
func (g *Guard) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	d, err := g.PDP.Decide(ctx, s, r)
	if err != nil {
		return d, err
	}
	if s.Check() != nil || len(d.Verdicts) != len(r.Resources) {
		return d, nil
	}
	live := g.registry.findMatching(ctx, s, r.Action)
	if len(live) == 0 {
		return d, nil
	}
	lifts, err := g.findLifts(ctx, s, &r, &d, live)
	if err != nil || len(lifts) == 0 {
		return d, nil // what cannot be decided again stays denied
	}
	used := map[string]int{}
	for _, l := range lifts {
		for _, id := range l.by {
			used[id]++
		}
	}
	granted, err := g.registry.useExceptions(ctx, s, &r, used)
	if err != nil {
		d.Warnings = append(slices.Clone(d.Warnings), warnUnlogged)
		return d, nil
	}
	return applyLifts(d, lifts, granted), nil
}

// override is a verdict that exceptions change.
type override struct {
	at      int
	verdict policies.Verdict
	by      []string // exceptions, each needed
}

// findLifts finds what exceptions can lift. Each round spares every item the reason it was
// denied for and asks again, so that all other rules hold.
func (g *Guard) findLifts(ctx context.Context, s scope.Scope, r *policies.Request, d *policies.Decision, live []*held) ([]override, error) {
	open := make([]override, 0, len(d.Verdicts))
	for i, v := range d.Verdicts {
		open = append(open, override{at: i, verdict: v})
	}
	items := slices.Clone(r.Resources)
	var done []override
	for range len(live) {
		again := policies.Request{Action: r.Action, Now: r.Now, RequestID: r.RequestID, DecisionID: r.DecisionID}
		var asked []override
		for _, l := range open {
			h := findException(live, &r.Resources[l.at], l)
			if h == nil {
				continue
			}
			spared, ok := spareReason(items[l.at], reasonOf(h.Path), s.Principal().ID)
			if !ok {
				continue
			}
			items[l.at] = spared
			l.by = append(slices.Clone(l.by), h.ID)
			asked = append(asked, l)
			again.Resources = append(again.Resources, spared)
		}
		if len(asked) == 0 {
			break
		}
		next, err := g.PDP.Decide(ctx, s, again)
		if err != nil {
			return nil, err
		}
		if len(next.Verdicts) != len(asked) {
			return nil, fmt.Errorf("decide again on %d items: verdicts do not match", len(asked))
		}
		open = open[:0]
		for i, l := range asked {
			l.verdict = next.Verdicts[i]
			open = append(open, l)
			done = slices.DeleteFunc(done, func(x override) bool { return x.at == l.at })
			if l.verdict.Allow {
				done = append(done, l)
			}
		}
	}
	return done, nil
}

// findException returns the exception that can lift what stands against the item.
func findException(live []*held, r *policies.Resource, l override) *held {
	reason := l.verdict.Reason
	if l.verdict.Allow {
		if len(l.verdict.Redact) == 0 && l.verdict.Obligations.PII == "" {
			return nil
		}
		reason = reasonPII
	}
	for _, h := range live {
		if reasonOf(h.Path) == reason && h.canReachItem(r) && !slices.Contains(l.by, h.ID) {
			return h
		}
	}
	return nil
}

// applyLifts changes the verdicts whose exceptions were all granted.
func applyLifts(d policies.Decision, lifts []override, granted map[string]bool) policies.Decision {
	d.Verdicts = slices.Clone(d.Verdicts)
	denials := 0
	redactions := 0
	for _, l := range lifts {
		if slices.ContainsFunc(l.by, func(id string) bool { return !granted[id] }) {
			continue
		}
		if d.Verdicts[l.at].Allow {
			redactions++
		} else {
			denials++
		}
		v := l.verdict
		v.Reason = ReasonException
		v.Exception = l.by[0]
		d.Verdicts[l.at] = v
	}
	if warning := describeLifted(denials, redactions); warning != "" {
		d.Warnings = append(slices.Clone(d.Warnings), warning)
	}
	return d
}

// describeLifted says what exceptions lifted, "" for nothing.
func describeLifted(denials, redactions int) string {
	var parts []string
	for _, p := range []struct {
		n   int
		one string
	}{{denials, "denial"}, {redactions, "redaction"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.one)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", p.n, p.one))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "policy: governed exceptions lifted " + strings.Join(parts, " and ")
}
