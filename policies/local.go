// LocalRules is the policy decision point for an outage of the policy server: it asks the
// server first and, while that does not answer, the built-in policy in the process.
//
// The built-in policy knows clearance, sensitivity, credentials, trust, groups, purpose,
// export, tenant and expiry, and who may change, relabel or register what. For what is read
// or opened, no role lifts any of it: personal data and credentials stay hidden from every
// principal until the server answers again. What cannot be taken back, or governs policy
// itself (erase, except, revoke, hold and release), stays denied.

package policies

import (
	"context"
	"errors"
	"fmt"

	"satchel/pipeline/scope"
	"satchel/schemas"
)

// LocalRulesWarning is in every decision that the local rules made.
const LocalRulesWarning = "policy: the policy server is unavailable; the local rules decided"

// LocalRules asks one decision point, and another when that is unavailable. It is safe for
// concurrent use when both are.
type LocalRules struct {
	primary PDP
	builtin PDP
}

// NewLocalRules returns a PDP that asks primary and, when primary is unavailable, builtin.
func NewLocalRules(primary, builtin PDP) *LocalRules {
	return &LocalRules{primary: primary, builtin: builtin}
}

// Revision returns the revision of the first decision point. A Decision has that of the one
// that decided, "local=" in front of the built-in one.
func (p *LocalRules) Revision() string { return p.primary.Revision() }

// Decide returns the first decision point's verdicts, or the local ones with Warning.
func (p *LocalRules) Decide(ctx context.Context, s scope.Scope, r Request) (Decision, error) {
	d, err := p.primary.Decide(ctx, s, r)
	if err == nil && len(d.Verdicts) != len(r.Resources) {
		d.Verdicts = make([]Verdict, len(r.Resources))
		d.Deny()
		err = fmt.Errorf("decide action %q: %w: verdicts do not match the request", r.Action, ErrUnavailable)
	}
	if err == nil || !canDecideLocally(err, r.Action) {
		return d, err
	}
	asked := r
	asked.Unhashed = true // the hash names the request as it was made
	stand, localErr := p.builtin.Decide(ctx, narrowScope(s, r.Action), asked)
	if localErr != nil || len(stand.Verdicts) != len(r.Resources) {
		return d, errors.Join(err, localErr)
	}
	stand.InputHash = ""
	if !r.Unhashed {
		stand.InputHash = InputHash(s, &r)
	}
	stand.Revision = "local=" + stand.Revision
	stand.Warnings = append(stand.Warnings, LocalRulesWarning)
	return stand, nil
}

// Filter returns the first decision point's filter, or the local one.
func (p *LocalRules) Filter(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error) {
	f, err := p.primary.Filter(ctx, s, action)
	if err == nil || !canDecideLocally(err, action) {
		return f, err
	}
	stand, localErr := p.builtin.Filter(ctx, narrowScope(s, action), action)
	if localErr != nil {
		return schemas.MatchNone(), errors.Join(err, localErr)
	}
	return stand, nil
}

// canDecideLocally reports whether the local rules decide on action after err.
func canDecideLocally(err error, action string) bool {
	switch action {
	case "erase", "except", "revoke", "hold", "release":
		return false
	}
	return errors.Is(err, ErrUnavailable)
}

// narrowScope is s, without roles where something is shown.
func narrowScope(s scope.Scope, action string) scope.Scope {
	if action == "read" || action == "open" {
		return s.WithoutRoles()
	}
	return s
}
