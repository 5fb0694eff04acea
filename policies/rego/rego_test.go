package rego_test

import (
	"os"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/open-policy-agent/opa/v1/tester"
)

func TestRegoTestsPassAndCover(t *testing.T) {
	t.Parallel()
	modules, store, err := tester.Load([]string{"."}, nil)
	if err != nil {
		t.Fatal(err)
	}
	coverage := cover.New()
	runner := tester.NewRunner().SetStore(store).SetModules(modules).
		SetCompiler(ast.NewCompiler().WithStrict(true)).SetCoverageQueryTracer(coverage)
	txn, err := store.NewTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Abort(t.Context(), txn)
	results, err := runner.RunTests(t.Context(), txn)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for r := range results {
		count++
		if !r.Pass() {
			t.Errorf("%s.%s: %s", r.Package, r.Name, r)
		}
	}
	if count < 50 {
		t.Errorf("only %d Rego tests ran", count)
	}
	report := coverage.Report(modules)
	for _, name := range []string{"policy.rego", "filter.rego", "wire.rego", "context.rego", "context_batch.rego", "context_filter.rego"} {
		file := report.Files[name]
		if file == nil {
			t.Errorf("%s was not run", name)
		} else if file.Coverage < 100 {
			t.Errorf("%s is not covered: %+v", name, file.NotCovered)
		}
	}
}

func TestRegoIsFormatted(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if len(name) < 5 || name[len(name)-5:] != ".rego" {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := format.Source(name, raw)
		if err != nil {
			t.Fatal(err)
		}
		if string(raw) != string(want) {
			t.Errorf("%s is not formatted as opa fmt does:\n%s", name, want)
		}
	}
}
