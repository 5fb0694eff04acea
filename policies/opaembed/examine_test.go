package opaembed_test

import (
	"path/filepath"
	"slices"
	"testing"

	"satchel/policies/opaembed"
	builtin "satchel/policies/rego"
)

func TestTestsOfABundle(t *testing.T) {
	t.Parallel()
	report, err := opaembed.TestFS(t.Context(), builtin.WithTests())
	if err != nil || report.Failed > 0 || len(report.Tests) < 50 || report.Coverage < 100 {
		t.Errorf("%d tests, %d failed, %g %% covered, error %v", len(report.Tests), report.Failed, report.Coverage, err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine.rego"), allowAll+"closed if input.closed\n")
	write(t, filepath.Join(dir, "mine_test.rego"), "package mine_test\ntest_good if true\ntest_bad if false\n")
	report, err = opaembed.Source{Path: dir}.Test(t.Context())
	if err != nil || report.Failed != 1 || len(report.Tests) != 2 || !slices.Contains(report.Missed, "mine.rego:4") {
		t.Errorf("%+v, error %v", report, err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	p, s := open(t, opaembed.Config{}), somebody(t)
	r := ask(1)
	r.Resources[0].Facets.Groups = []string{"risk"}
	e, err := p.Explain(t.Context(), s, r)
	const rule = "else := \"groups\" if {\n\tnot item.groups == []\n\tnot shares_group(item)\n}"
	if err != nil || e.Verdict.Reason != "groups" || e.File != "policy.rego" || e.Line == 0 || e.Rule != rule {
		t.Errorf("%+v, error %v", e, err)
	}
	if _, err := p.Explain(t.Context(), s, ask(2)); err == nil {
		t.Error("two resources were explained")
	}
}
