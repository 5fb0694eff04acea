package opaembed

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

const root = "data.cmo.policy."

// bundle is one revision of the policy, compiled, with what is cached under it. It is
// safe for concurrent use.
type bundle struct {
	revision   string
	verdicts   rego.PreparedEvalQuery
	filter     rego.PreparedEvalQuery
	attributes rego.PreparedEvalQuery
	cacheable  bool
	cache      *cache
}

// compile compiles what was read. It refuses what does not compile, uses a builtin that
// reaches outside, or lacks a rule it needs.
func compile(ctx context.Context, c *contents, cacheEntries int) (*bundle, error) {
	//lint:ignore SA1019 capabilities list what is allowed, and would refuse builtins of a newer OPA
	compiler := ast.NewCompiler().WithUnsafeBuiltins(unsafeBuiltins())
	if compiler.Compile(c.modules); compiler.Failed() {
		return nil, fmt.Errorf("compile policy bundle: %w", located(compiler.Errors))
	}
	for _, rule := range []string{"verdicts", "filter"} {
		if len(compiler.GetRules(ast.MustParseRef(root+rule))) == 0 {
			return nil, fmt.Errorf("compile policy bundle: no rule %q", root+rule)
		}
	}
	var err error
	b := &bundle{revision: c.revision, cache: newCache(cacheEntries)}
	prepare := func(rule string) rego.PreparedEvalQuery {
		if err != nil {
			return rego.PreparedEvalQuery{}
		}
		var q rego.PreparedEvalQuery
		q, err = rego.New(rego.Query(root+rule), rego.Compiler(compiler), rego.Store(c.store),
			rego.StrictBuiltinErrors(true), rego.GenerateJSON(keepTerm)).PrepareForEval(ctx)
		return q
	}
	b.verdicts, b.filter, b.attributes = prepare("verdicts"), prepare("filter"), prepare("attributes")
	cacheable := prepare("cacheable")
	if err != nil {
		return nil, fmt.Errorf("prepare policy bundle: %w", err)
	}
	answer, err := evaluate(ctx, cacheable, ast.NewObject())
	if err != nil {
		return nil, fmt.Errorf("evaluate policy bundle: %w", err)
	}
	b.cacheable = answer != nil && answer.Value.Compare(ast.Boolean(true)) == 0
	return b, nil
}

// keepTerm leaves a result as the term it is.
func keepTerm(t *ast.Term, _ *rego.EvalContext) (any, error) { return t, nil }

// evaluate returns the value of q's only expression, nil when it is undefined.
func evaluate(ctx context.Context, q rego.PreparedEvalQuery, input ast.Value, options ...rego.EvalOption) (*ast.Term, error) {
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
