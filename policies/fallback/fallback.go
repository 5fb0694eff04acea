// Package fallback is the policy decision point for when the policy server does not
// answer: five local rules in Rego, and the PDP that turns to them.
//
// The rules, which Rules holds as a bundle, are for what is read or opened:
//
//	reason       denied when
//	sensitivity  sensitivity is above 0.7 and the subject is public or internal
//	credentials  the item holds credentials
//	trust        trust is below 0.3
//	groups       the item names groups and the subject is in none of them
//
// and personal data has its PII flags redacted, the whole of $.content when a flag is
// not a JSON path or there is none. No role lifts any of them, and nothing else of the
// policy holds meanwhile: no clearance, purpose, export or expiry. The stores hold each
// request to its tenant all the same. Every other action stays denied.
package fallback

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"satchel/pipeline/scope"
	"satchel/policies"
	"satchel/schemas"
)

//go:embed five.rego
var rules embed.FS

// Rules returns the bundle of the five rules.
func Rules() embed.FS { return rules }

// Warning is in every decision of the local rules.
const Warning = "policy: the policy server is unavailable; the five local rules decided"

// PDP asks one decision point, and another when that is unavailable. It is safe for
// concurrent use when both are.
type PDP struct {
	primary policies.PDP
	local   policies.PDP
}

// New returns a PDP that asks primary and, when primary is unavailable, local. local
// decides on what is read or opened alone, whatever its policy.
func New(primary, local policies.PDP) *PDP { return &PDP{primary: primary, local: local} }

// Revision returns the revision of the first decision point; a Decision has that of the
// one that decided.
func (p *PDP) Revision() string { return p.primary.Revision() }

// Decide returns the first decision point's verdicts, or the local ones with Warning.
func (p *PDP) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	d, err := p.primary.Decide(ctx, s, r)
	if err == nil && len(d.Verdicts) != len(r.Resources) {
		d.Verdicts = make([]policies.Verdict, len(r.Resources))
		d.Deny()
		err = fmt.Errorf("decide action %q: %w: verdicts do not match the request", r.Action, policies.ErrUnavailable)
	}
	if err == nil || !local(err, r.Action) {
		return d, err
	}
	stand, localErr := p.local.Decide(ctx, s, r)
	if localErr != nil || len(stand.Verdicts) != len(r.Resources) {
		return d, errors.Join(err, localErr)
	}
	stand.Warnings = append(stand.Warnings, Warning)
	return stand, nil
}

// Filter returns the first decision point's filter, or the local one.
func (p *PDP) Filter(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error) {
	f, err := p.primary.Filter(ctx, s, action)
	if err == nil || !local(err, action) {
		return f, err
	}
	stand, localErr := p.local.Filter(ctx, s, action)
	if localErr != nil {
		return schemas.MatchNone(), errors.Join(err, localErr)
	}
	return stand, nil
}

func local(err error, action string) bool {
	return errors.Is(err, policies.ErrUnavailable) && (action == "read" || action == "open")
}
