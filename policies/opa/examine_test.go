package opa_test

import (
	"path/filepath"
	"slices"
	"testing"

	"satchel/policies/opa"
	builtin "satchel/policies/rego"
)

func TestTestsOfABundle(t *testing.T) {
	t.Parallel()
	report, err := opa.TestFS(t.Context(), builtin.WithTests())
	if err != nil || report.Failed > 0 || len(report.Tests) < 50 || report.Coverage < 100 {
		t.Errorf("%d tests, %d failed, %g %% covered, error %v", len(report.Tests), report.Failed, report.Coverage, err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine.rego"), allowAll+"closed if input.closed\n")
	write(t, filepath.Join(dir, "mine_test.rego"), "package mine_test\ntest_good if true\ntest_bad if false\n")
	report, err = opa.Source{Path: dir}.Test(t.Context())
	if err != nil || report.Failed != 1 || len(report.Tests) != 2 || !slices.Contains(report.Missed, "mine.rego:4") {
		t.Errorf("%+v, error %v", report, err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	p, s := open(t, opa.Config{}), somebody(t)
	r := ask(1)
	r.Resources[0].Facets.Groups = []string{"risk"}
	e, err := p.Explain(t.Context(), s, r)
	const rule = "refused[\"groups\"] := (positions - {i | input.items[i].groups == []}) - {i |\n\tmine := groups\n\tmine[input.items[i].groups[_]]\n}"
	if err != nil || e.Verdict.Reason != "groups" || e.File != "policy.rego" || e.Line == 0 || e.Rule != rule {
		t.Errorf("%+v, error %v", e, err)
	}
	plain := ask(1)
	if e, err = p.Explain(t.Context(), s, plain); err != nil || !e.Verdict.Allow || e.Rule != `allowed := {i: ["allowed", []] | some i, _ in input.items}` {
		t.Errorf("%+v, error %v", e, err)
	}
	one, err := opa.New(t.Context(), opa.Config{Bundle: itemByItem(t)})
	if err != nil {
		t.Fatal(err)
	}
	const chained = "else := \"groups\" if {\n\tnot item.groups == []\n\tnot shares_group(item)\n}"
	if e, err = one.Explain(t.Context(), s, r); err != nil || e.Rule != chained {
		t.Errorf("%+v, error %v", e, err)
	}
	if _, err := p.Explain(t.Context(), s, ask(2)); err == nil {
		t.Error("two resources were explained")
	}
}
