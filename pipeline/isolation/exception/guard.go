package exception

import (
	"context"
	"errors"
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
	standby  policies.PDP
	registry *Registry
}

// NewGuard returns a guard over primary. standby, which may be nil, decides on what an
// exception with the reason unavailable covers while primary does not answer.
func NewGuard(primary, standby policies.PDP, registry *Registry) *Guard {
	return &Guard{PDP: primary, standby: standby, registry: registry}
}

// Filter returns the policy's filter, or all of the tenant when an exception may lift a
// denial of some item for who asks.
func (g *Guard) Filter(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error) {
	f, err := g.Unexcepted(ctx, s, action)
	if err == nil && slices.ContainsFunc(g.registry.matching(ctx, s, action), func(h *held) bool { return reasonOf(h.Path) != reasonPII && reasonOf(h.Path) != reasonUnavailable }) {
		return schemas.MatchAll(), nil
	}
	return f, err
}

// Unexcepted is the filter as if no exception let anything through.
func (g *Guard) Unexcepted(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error) {
	f, err := g.PDP.Filter(ctx, s, action)
	if err != nil && g.standby != nil && errors.Is(err, policies.ErrUnavailable) && stands(g.registry.matching(ctx, s, action)) {
		return g.standby.Filter(ctx, s, action)
	}
	return f, err
}

func stands(live []*held) bool {
	return slices.ContainsFunc(live, func(h *held) bool { return reasonOf(h.Path) == reasonUnavailable })
}

// Decide returns the policy's verdicts, with what live exceptions lift lifted. Every
// use is in the log when it returns.
func (g *Guard) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	d, err := g.PDP.Decide(ctx, s, r)
	if err != nil {
		return g.standIn(ctx, s, r, d, err)
	}
	if s.Check() != nil || len(d.Verdicts) != len(r.Resources) {
		return d, nil
	}
	live := g.registry.matching(ctx, s, r.Action)
	if len(live) == 0 {
		return d, nil
	}
	lifts, err := g.lifts(ctx, s, &r, &d, live)
	if err != nil || len(lifts) == 0 {
		return d, nil // what cannot be decided again stays denied
	}
	used := map[string]int{}
	for _, l := range lifts {
		for _, id := range l.by {
			used[id]++
		}
	}
	granted, err := g.registry.use(ctx, s, &r, used)
	if err != nil {
		d.Warnings = append(slices.Clone(d.Warnings), warnUnlogged)
		return d, nil
	}
	return apply(d, lifts, granted), nil
}

// standIn lets the standby decide when an exception covers that.
func (g *Guard) standIn(ctx context.Context, s scope.Scope, r policies.Request, denied policies.Decision, cause error) (policies.Decision, error) {
	if g.standby == nil || !errors.Is(cause, policies.ErrUnavailable) || s.Check() != nil {
		return denied, cause
	}
	var id string
	for _, h := range g.registry.matching(ctx, s, r.Action) {
		narrow := h.Scope.Session != "" || len(h.Labels) > 0 // it does not cover every item of a request
		if reasonOf(h.Path) == reasonUnavailable && !narrow {
			id = h.ID
			break
		}
	}
	if id == "" {
		return denied, cause
	}
	d, err := g.standby.Decide(ctx, s, r)
	if err != nil || len(d.Verdicts) != len(r.Resources) {
		return denied, errors.Join(cause, err)
	}
	allowed := 0
	for i := range d.Verdicts {
		if d.Verdicts[i].Allow {
			d.Verdicts[i].Exception = id
			allowed++
		}
	}
	granted, err := g.registry.use(ctx, s, &r, map[string]int{id: allowed})
	if err != nil || !granted[id] {
		return denied, errors.Join(cause, err)
	}
	return d, nil
}

// lift is a verdict that exceptions change.
type lift struct {
	at      int
	verdict policies.Verdict
	by      []string // exceptions, each needed
}

// lifts finds what exceptions can lift. Each round spares every item the reason it was
// denied for and asks again, so that all other rules hold.
func (g *Guard) lifts(ctx context.Context, s scope.Scope, r *policies.Request, d *policies.Decision, live []*held) ([]lift, error) {
	open := make([]lift, 0, len(d.Verdicts))
	for i, v := range d.Verdicts {
		open = append(open, lift{at: i, verdict: v})
	}
	items := slices.Clone(r.Resources)
	var done []lift
	for range len(live) {
		again := policies.Request{Action: r.Action, Now: r.Now, RequestID: r.RequestID, DecisionID: r.DecisionID}
		var asked []lift
		for _, l := range open {
			h := find(live, &r.Resources[l.at], l)
			if h == nil {
				continue
			}
			spared, ok := spare(items[l.at], reasonOf(h.Path), s.Principal().ID)
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
			done = slices.DeleteFunc(done, func(x lift) bool { return x.at == l.at })
			if l.verdict.Allow {
				done = append(done, l)
			}
		}
	}
	return done, nil
}

// find returns the exception that can lift what stands against the item.
func find(live []*held, r *policies.Resource, l lift) *held {
	reason := l.verdict.Reason
	if l.verdict.Allow {
		if len(l.verdict.Redact) == 0 && l.verdict.Obligations.PII == "" {
			return nil
		}
		reason = reasonPII
	}
	for _, h := range live {
		if reasonOf(h.Path) == reason && h.reaches(r) && !slices.Contains(l.by, h.ID) {
			return h
		}
	}
	return nil
}

// apply changes the verdicts whose exceptions were all granted.
func apply(d policies.Decision, lifts []lift, granted map[string]bool) policies.Decision {
	d.Verdicts = slices.Clone(d.Verdicts)
	denials, redactions := 0, 0
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
		v.Reason, v.Exception = ReasonException, l.by[0]
		d.Verdicts[l.at] = v
	}
	if warning := lifted(denials, redactions); warning != "" {
		d.Warnings = append(slices.Clone(d.Warnings), warning)
	}
	return d
}

// lifted says what exceptions lifted, "" for nothing.
func lifted(denials, redactions int) string {
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
