package opa

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"satchel/policies"
)

const root = "data.cmo.policy."

// bundle is one revision of the policy, compiled, with what is cached under it. It is
// safe for concurrent use.
type bundle struct {
	revision   string
	verdicts   rego.PreparedEvalQuery
	filter     rego.PreparedEvalQuery
	attributes rego.PreparedEvalQuery
	extra      *rego.PreparedEvalQuery // attributes of satchel.extra; nil: there is no such package
	denies     map[string]bool         // texts of the bundle's own rules: whatever reason they give is one of these
	cacheable  bool
	cache      *cache
}

// compileBundle compiles what was read. It refuses what does not compile, uses a builtin that
// reaches outside, or lacks a rule it needs.
func compileBundle(ctx context.Context, c *contents, cacheEntries int) (*bundle, error) {
	//lint:ignore SA1019 capabilities list what is allowed, and would refuse builtins of a newer OPA
	compiler := ast.NewCompiler().WithUnsafeBuiltins(unsafeBuiltins())
	compiler.Compile(c.modules)
	if compiler.Failed() {
		return nil, fmt.Errorf("compile policy bundle: %w", locateError(compiler.Errors))
	}
	for _, rule := range []string{"verdicts", "filter"} {
		if len(compiler.GetRules(ast.MustParseRef(root+rule))) == 0 {
			return nil, fmt.Errorf("compile policy bundle: no rule %q", root+rule)
		}
	}
	var err error
	b := &bundle{revision: c.revision, cache: newCache(cacheEntries), denies: textsOf(c.listOwnModules())}
	prepare := func(rule string) rego.PreparedEvalQuery {
		if err != nil {
			return rego.PreparedEvalQuery{}
		}
		var q rego.PreparedEvalQuery
		q, err = rego.New(rego.Query(rule), rego.Compiler(compiler), rego.Store(c.store),
			rego.StrictBuiltinErrors(true), rego.GenerateJSON(keepTerm)).PrepareForEval(ctx)
		return q
	}
	b.verdicts, b.filter, b.attributes = prepare(root+"verdicts"), prepare(root+"filter"), prepare(root+"attributes")
	cacheable := []rego.PreparedEvalQuery{prepare(root + "cacheable")}
	if c.hasPackage(extra) {
		if len(compiler.GetRules(ast.MustParseRef(extra+".deny"))) == 0 {
			return nil, fmt.Errorf("compile policy bundle: no rule %q", extra+".deny")
		}
		looks := prepare(extra + ".attributes")
		b.extra, cacheable = &looks, append(cacheable, prepare(extra+".cacheable"))
	}
	if err != nil {
		return nil, fmt.Errorf("prepare policy bundle: %w", err)
	}
	b.cacheable = true
	for _, q := range cacheable {
		answer, err := evaluateQuery(ctx, q, ast.NewObject())
		if err != nil {
			return nil, fmt.Errorf("evaluate policy bundle: %w", err)
		}
		b.cacheable = b.cacheable && answer != nil && answer.Value.Compare(ast.Boolean(true)) == 0
	}
	return b, nil
}

// textsOf returns the texts in modules that may be a verdict's reason: of rules that deny a
// pair [i, "reason"] these reasons, of any other rule all of its texts.
func textsOf(modules map[string]*ast.Module) map[string]bool {
	texts := map[string]bool{}
	add := func(t *ast.Term) bool {
		if text, ok := t.Value.(ast.String); ok && policies.ValidReason(string(text)) {
			texts[string(text)] = true
		}
		return false
	}
	for _, m := range modules {
		for _, rule := range m.Rules {
			if reason := reasonIn(rule.Head.Key); reason != nil {
				add(reason)
				continue
			}
			ast.WalkTerms(rule, add)
		}
	}
	return texts
}

// reasonIn returns the reason in the key of a partial set, as deny contains [i, "reason"],
// nil where there is none or it is no text.
func reasonIn(key *ast.Term) *ast.Term {
	if key == nil {
		return nil
	}
	if pair, ok := key.Value.(*ast.Array); ok && pair.Len() == 2 {
		if _, text := pair.Elem(1).Value.(ast.String); text {
			return pair.Elem(1)
		}
	}
	return nil
}

// keepTerm leaves a result as the term it is.
func keepTerm(t *ast.Term, _ *rego.EvalContext) (any, error) { return t, nil }

// evaluateQuery returns the value of q's only expression, nil when it is undefined.
func evaluateQuery(ctx context.Context, q rego.PreparedEvalQuery, input ast.Value, options ...rego.EvalOption) (*ast.Term, error) {
	results, err := q.Eval(ctx, append(options, rego.EvalParsedInput(input))...)
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, nil
	}
	if len(results) != 1 || len(results[0].Expressions) != 1 {
		return nil, fmt.Errorf("%d results where one is due", len(results))
	}
	term, ok := results[0].Expressions[0].Value.(*ast.Term)
	if !ok {
		return nil, fmt.Errorf("result is %T", results[0].Expressions[0].Value)
	}
	return term, nil
}

// unsafeBuiltins are those whose answer depends on more than bundle and input.
func unsafeBuiltins() map[string]struct{} {
	return map[string]struct{}{
		ast.HTTPSend.Name: {}, ast.NetLookupIPAddr.Name: {}, ast.OPARuntime.Name: {},
		ast.RandIntn.Name: {}, ast.UUIDRFC4122.Name: {}, ast.RegoParseModule.Name: {},
	}
}
