package opa

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"satchel/pipeline/scope"
	"satchel/policies"
	builtin "satchel/policies/rego"
	"satchel/schemas"
)

// Config says which policy decides. The zero Config is the built-in bundle.
type Config struct {
	// Bundle holds .rego modules and data.json or data.yaml files; files that end in
	// _test.rego are left out. nil is the built-in bundle.
	Bundle fs.FS
	// CacheEntries bounds the cached inputs, verdicts and filters, at about 500 bytes
	// each. 0 is 65,536; below 0 nothing is cached.
	CacheEntries int
}

// PDP decides by a bundle. It is safe for concurrent use.
type PDP struct {
	current      atomic.Pointer[bundle]
	refused      atomic.Pointer[string] // the warning on a changed bundle that was refused
	cacheEntries int
	source       Source // of a PDP that Open made
	seen         string // the source's fingerprint; Watch's alone
}

// New compiles the bundle. It refuses one that does not compile, uses a builtin that
// reaches outside, or lacks a rule it needs.
func New(ctx context.Context, c Config) (*PDP, error) {
	files := c.Bundle
	if files == nil {
		files = builtin.Bundle()
	}
	read, err := readFS(files)
	if err != nil {
		return nil, err
	}
	if c.Bundle == nil {
		read.builtIn = map[string]bool{}
		for name := range read.modules {
			read.builtIn[name] = true
		}
	}
	return openBundle(ctx, read, c.CacheEntries)
}

func openBundle(ctx context.Context, read *contents, cacheEntries int) (*PDP, error) {
	switch {
	case cacheEntries == 0:
		cacheEntries = 65536
	case cacheEntries < 0:
		cacheEntries = 0
	}
	b, err := compileBundle(ctx, read, cacheEntries)
	if err != nil {
		return nil, err
	}
	p := &PDP{cacheEntries: cacheEntries}
	p.current.Store(b)
	return p, nil
}

// Reload compiles files and decides by them from now on; requests under way end under
// the old revision. On an error the old revision stays.
func (p *PDP) Reload(ctx context.Context, files fs.FS) error {
	read, err := readFS(files)
	if err != nil {
		return err
	}
	b, err := compileBundle(ctx, read, p.cacheEntries)
	if err != nil {
		return err
	}
	p.current.Store(b)
	p.refused.Store(nil)
	return nil
}

// Revision returns 16 hex digits that name the bundle in force.
func (p *PDP) Revision() string {
	if b := p.current.Load(); b != nil {
		return b.revision
	}
	return ""
}

// Denies reports whether a rule of the bundle's own may give a reason: whether the reason
// stands in one. The built-in rules are nobody's own.
func (p *PDP) Denies(reason string) bool {
	b := p.current.Load()
	return b != nil && b.denies[reason]
}

// HitRate is the share of verdicts that were kept from before, since the bundle in
// force was compiled.
func (p *PDP) HitRate() float64 {
	if b := p.current.Load(); b != nil {
		return b.cache.computeHitRate()
	}
	return 0
}

// Decide returns a verdict for every resource of r, in order.
func (p *PDP) Decide(ctx context.Context, s scope.Scope, r policies.Request) (policies.Decision, error) {
	d := policies.Decision{Verdicts: make([]policies.Verdict, len(r.Resources))}
	err := s.Check()
	b := p.current.Load()
	switch {
	case err != nil:
	case b == nil:
		err = errors.New("no policy bundle")
	case r.Now.IsZero():
		err = errors.New("request has no time")
	default:
		d.Revision = b.revision
		if !r.Unhashed {
			d.InputHash = policies.InputHash(s, &r)
		}
		err = b.fillVerdicts(ctx, s, &r, d.Verdicts)
	}
	if err != nil {
		d.Deny()
		return d, fmt.Errorf("decide action %q: %w: %w", r.Action, policies.ErrUnavailable, err)
	}
	if warning := p.refused.Load(); warning != nil {
		d.Warnings = []string{*warning}
	}
	return d, nil
}

// Filter returns the bundle's filter for s and action.
func (p *PDP) Filter(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error) {
	err := s.Check()
	b := p.current.Load()
	if err == nil && b == nil {
		err = errors.New("no policy bundle")
	}
	if err != nil {
		return schemas.MatchNone(), fmt.Errorf("filter action %q: %w: %w", action, policies.ErrUnavailable, err)
	}
	asker := askerOf(s, action)
	if f, ok := b.cache.findFilter(asker); ok {
		return f, nil
	}
	f, err := b.filterFor(ctx, s, action)
	if err != nil {
		return schemas.MatchNone(), fmt.Errorf("filter action %q: %w: %w", action, policies.ErrUnavailable, err)
	}
	b.cache.keepFilter(asker, f)
	return f, nil
}

func (b *bundle) filterFor(ctx context.Context, s scope.Scope, action string) (schemas.Filter, error) {
	input, err := askerInput(s, action)
	if err != nil {
		return schemas.MatchNone(), err
	}
	answer, err := evaluateQuery(ctx, b.filter, ast.NewObject(input...))
	if err != nil {
		return schemas.MatchNone(), err
	}
	return parseFilter(answer)
}

// attributesFor returns what of an item the bundle looks at for action.
func (b *bundle) attributesFor(ctx context.Context, action string) (policies.Attributes, error) {
	if a, ok := b.cache.attributesOf(action); ok {
		return a, nil
	}
	a, err := looksAt(ctx, b.attributes, action)
	if err == nil && b.extra != nil {
		var more policies.Attributes
		more, err = looksAt(ctx, *b.extra, action)
		a |= more
	}
	if err != nil {
		return 0, err
	}
	b.cache.keepAttributes(action, a)
	return a, nil
}

// looksAt evaluates a rule that names attributes; without a value it is all of them.
func looksAt(ctx context.Context, rule rego.PreparedEvalQuery, action string) (policies.Attributes, error) {
	answer, err := evaluateQuery(ctx, rule, ast.NewObject([2]*ast.Term{ast.StringTerm("action"), ast.StringTerm(action)}))
	if err != nil {
		return 0, err
	}
	if answer == nil {
		return policies.AllAttributes(), nil
	}
	names, err := parseNames(answer)
	if err != nil {
		return 0, err
	}
	return policies.ParseAttributes(names)
}

// fixEvaluationTime makes the clock builtins answer with the request's time.
func fixEvaluationTime(r *policies.Request) rego.EvalOption { return rego.EvalTime(r.Now) }
