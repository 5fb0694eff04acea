package opa

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"satchel/pipeline/scope"
	"satchel/policies"
)

// profile is one distinct policy input of an item and what is known of it.
type profile struct {
	key     string // the input as canonical JSON
	value   *ast.Term
	verdict policies.Verdict
	known   bool // verdict holds
}

// fillVerdicts fills verdicts for r.Resources, evaluating each distinct profile that is not
// known once, all in one evaluation.
func (b *bundle) fillVerdicts(ctx context.Context, s scope.Scope, r *policies.Request, verdicts []policies.Verdict) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	attributes, err := b.attributesFor(ctx, r.Action)
	if err != nil {
		return err
	}
	profiles, which := b.collectProfiles(r, attributes)
	asker := ""
	if b.cacheable {
		asker = askerOf(s, r.Action)
	}
	b.cache.lookUpVerdicts(asker, profiles)
	open := make([]int, 0, len(profiles))
	for i := range profiles {
		if !profiles[i].known {
			open = append(open, i)
		}
	}
	if len(open) > 0 {
		if err := b.evaluateProfiles(ctx, s, r, profiles, open); err != nil {
			return err
		}
		fresh := make([]profile, len(open))
		for i, at := range open {
			fresh[i] = profiles[at]
		}
		b.cache.keepVerdicts(asker, fresh)
	}
	for i, at := range which {
		verdicts[i] = profiles[at].verdict
		verdicts[i].Redact = slices.Clone(verdicts[i].Redact)
		verdicts[i].Obligations.Types = slices.Clone(verdicts[i].Obligations.Types)
	}
	return nil
}

// collectProfiles returns the distinct inputs of r's resources and, for each resource, which is
// its. A cacheable bundle only asks whether a time is reached, so it is shown a time
// that is long past or far ahead: items that differ in the time alone share an input.
func (b *bundle) collectProfiles(r *policies.Request, a policies.Attributes) (profiles []profile, which []int) {
	which = make([]int, len(r.Resources))
	seen := make(map[string]int, min(len(r.Resources), 128))
	var buf []byte
	for i := range r.Resources {
		seenAs := r.Resources[i]
		if b.cacheable {
			seenAs.ExpiresAt, seenAs.ValidTo = coarsenTime(seenAs.ExpiresAt, r.Now), coarsenTime(seenAs.ValidTo, r.Now)
		}
		buf = seenAs.AppendInput(buf[:0], a)
		at, ok := seen[string(buf)]
		if !ok {
			at = len(profiles)
			profiles = append(profiles, profile{key: string(buf)})
			seen[profiles[at].key] = at
		}
		which[i] = at
	}
	return profiles, which
}

// coarsenTime returns the earliest time of the policy input when now has reached t, else the
// latest, and the zero time for itself.
func coarsenTime(t, now time.Time) time.Time {
	switch {
	case t.IsZero():
		return t
	case now.Before(t):
		return time.Unix(0, math.MaxInt64)
	}
	return time.Unix(0, math.MinInt64)
}

func (b *bundle) evaluateProfiles(ctx context.Context, s scope.Scope, r *policies.Request, profiles []profile, open []int) error {
	items := make([]*ast.Term, len(open))
	read := newValues()
	for i, at := range open {
		p := &profiles[at]
		if p.value == nil {
			v, err := read.readWholeValue([]byte(p.key))
			if err != nil {
				return fmt.Errorf("read policy input: %w", err)
			}
			p.value = v
		}
		items[i] = p.value
	}
	input, err := askerInput(s, r.Action)
	if err != nil {
		return err
	}
	now, err := read.readWholeValue(policies.AppendTime(nil, r.Now))
	if err != nil {
		return fmt.Errorf("read policy input: %w", err)
	}
	input = append(input,
		[2]*ast.Term{ast.StringTerm("items"), ast.ArrayTerm(items...)},
		[2]*ast.Term{ast.StringTerm("now"), now})
	answer, err := evaluateQuery(ctx, b.verdicts, ast.NewObject(input...), fixEvaluationTime(r))
	if err != nil {
		return err
	}
	found, err := parseVerdicts(answer, len(open))
	if err != nil {
		return err
	}
	for i, at := range open {
		profiles[at].verdict = found[i]
		profiles[at].known = true
	}
	return nil
}

// askerOf is the key of who asks for what: action, purpose and subject, unambiguously.
func askerOf(s scope.Scope, action string) string {
	return string(policies.AppendAsker(make([]byte, 0, 256), s, action))
}

// askerInput returns the members action, purpose and subject of the policy input.
func askerInput(s scope.Scope, action string) ([][2]*ast.Term, error) {
	v, err := newValues().readWholeValue(policies.AppendAsker(nil, s, action))
	if err != nil {
		return nil, fmt.Errorf("read policy input: %w", err)
	}
	object, ok := v.Value.(ast.Object)
	if !ok {
		return nil, fmt.Errorf("read policy input: %T", v.Value)
	}
	members := make([][2]*ast.Term, 0, 5)
	object.Foreach(func(k, v *ast.Term) { members = append(members, [2]*ast.Term{k, v}) })
	return members, nil
}
