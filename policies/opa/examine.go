package opa

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"

	"satchel/pipeline/scope"
	"satchel/policies"
)

// TestReport is the outcome of a bundle's own tests.
type TestReport struct {
	Tests    []TestResult `json:"tests"`
	Failed   int          `json:"failed"`
	Coverage float64      `json:"coverage"` // per cent of the lines of the bundle
	Missed   []string     `json:"missed"`   // file:line that no test reached
}

// TestResult is one test.
type TestResult struct {
	Name   string `json:"name"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Passed bool   `json:"passed"`
	Error  string `json:"error,omitempty"`
}

// Test runs the tests of the bundle at src: the rules whose names begin with test_ in
// files that end in _test.rego.
func (s Source) Test(ctx context.Context) (TestReport, error) {
	read, err := s.readBundle()
	if err != nil {
		return TestReport{}, err
	}
	return read.runTests(ctx)
}

// TestFS is Test for a bundle in files.
func TestFS(ctx context.Context, files fs.FS) (TestReport, error) {
	read, err := readFS(files)
	if err != nil {
		return TestReport{}, err
	}
	return read.runTests(ctx)
}

func (c *contents) runTests(ctx context.Context) (TestReport, error) {
	report := TestReport{Tests: []TestResult{}, Missed: []string{}}
	modules := maps.Clone(c.modules)
	for name, m := range c.tests {
		if m == nil {
			return report, &BundleError{File: name, Err: fmt.Errorf("the test does not parse")}
		}
		modules[name] = m
	}
	//lint:ignore SA1019 capabilities list what is allowed, and would refuse builtins of a newer OPA
	compiler := ast.NewCompiler().WithUnsafeBuiltins(unsafeBuiltins())
	compiler.Compile(modules)
	if compiler.Failed() {
		return report, fmt.Errorf("compile policy tests: %w", locateError(compiler.Errors))
	}
	coverage := cover.New()
	txn, err := c.store.NewTransaction(ctx)
	if err != nil {
		return report, fmt.Errorf("test policy bundle: %w", err)
	}
	defer c.store.Abort(ctx, txn)
	results, err := tester.NewRunner().SetStore(c.store).SetModules(modules).SetCompiler(compiler).SetCoverageQueryTracer(coverage).RunTests(ctx, txn)
	if err != nil {
		return report, fmt.Errorf("test policy bundle: %w", err)
	}
	for r := range results {
		t := TestResult{Name: r.Package + "." + r.Name, Passed: r.Pass()}
		if r.Location != nil {
			t.File = r.Location.File
			t.Line = r.Location.Row
		}
		if r.Error != nil {
			t.Error = r.Error.Error()
		}
		if !t.Passed {
			report.Failed++
		}
		report.Tests = append(report.Tests, t)
	}
	covered := coverage.Report(c.listOwnModules())
	report.Coverage = covered.Coverage
	for _, name := range slices.Sorted(maps.Keys(covered.Files)) {
		for _, gap := range covered.Files[name].NotCovered {
			missed := fmt.Sprintf("%s:%d", name, gap.Start.Row)
			if !slices.Contains(report.Missed, missed) {
				report.Missed = append(report.Missed, missed)
			}
		}
	}
	return report, nil
}

// Explanation says which rule gave a verdict.
type Explanation struct {
	Verdict  policies.Verdict
	Revision string
	File     string // of the rule; "" when no rule gave the reason
	Line     int
	Rule     string // its text
}

// Explain decides on the one resource of r and finds the rule that gave the reason: the
// first that has it for its value, else the one that is called refused.REASON, or allowed.
func (p *PDP) Explain(ctx context.Context, s scope.Scope, r policies.Request) (Explanation, error) {
	if len(r.Resources) != 1 {
		return Explanation{}, fmt.Errorf("explain policy: %d resources, want 1", len(r.Resources))
	}
	d, err := p.Decide(ctx, s, r)
	e := Explanation{Verdict: d.Verdicts[0], Revision: d.Revision}
	if err != nil {
		return e, err
	}
	input, err := ast.ValueFromReader(strings.NewReader(string(policies.AppendRequest(nil, s, &r, policies.AllAttributes()))))
	if err != nil {
		return e, fmt.Errorf("explain policy: %w", err)
	}
	trace := topdown.NewBufferTracer()
	if _, err := p.current.Load().verdicts.Eval(ctx, rego.EvalParsedInput(input), rego.EvalTime(r.Now), rego.EvalQueryTracer(trace)); err != nil {
		return e, fmt.Errorf("explain policy: %w", err)
	}
	if rule := findGivingRule(*trace, e.Verdict.Reason); rule != nil {
		text, more, _ := strings.Cut(strings.TrimSpace(string(rule.Location.Text)), "\n} else")
		if more != "" {
			text += "\n}"
		}
		e.File = rule.Location.File
		e.Line = rule.Location.Row
		e.Rule = text
	}
	return e, nil
}

// findGivingRule returns the rule that gave the reason, nil for none.
func findGivingRule(trace []*topdown.Event, reason string) (named *ast.Rule) {
	for _, event := range trace {
		rule, ok := event.Node.(*ast.Rule)
		if !ok || event.Op != topdown.ExitOp || rule.Location == nil {
			continue
		}
		if own := reasonIn(rule.Head.Key); own != nil && own.Value.Compare(ast.String(reason)) == 0 || rule.Head.Value != nil && rule.Head.Value.Value.Compare(ast.String(reason)) == 0 {
			return rule
		}
		name := rule.Head.Ref().String()
		if named == nil && (name == "refused."+reason || name == reason && reason == policies.ReasonAllowed) {
			named = rule
		}
	}
	return named
}
