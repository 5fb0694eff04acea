package projection

import (
	"slices"
	"testing"
	"time"

	"satchel/pipeline/isolation"
	"satchel/pipeline/pii"
	"satchel/schemas"
)

// The indexes mark what a verdict may hide though the filter lets it through, and hold no
// category that not everybody sees.
func TestIndexedFacets(t *testing.T) {
	t.Parallel()
	d, err := pii.New(pii.Config{})
	if err != nil {
		t.Fatal(err)
	}
	z := pii.NewSanitizer(d, pii.Pseudonyms{}, nil)
	for name, tc := range map[string]struct {
		change             func(*schemas.MemoryItem)
		unsettled, covered bool
	}{
		"plain":            {func(*schemas.MemoryItem) {}, false, false},
		"ends":             {func(m *schemas.MemoryItem) { m.TTL = 60 }, true, false},
		"valid to":         {func(m *schemas.MemoryItem) { m.ValidTo = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }, true, false},
		"valid from":       {func(m *schemas.MemoryItem) { m.ValidFrom = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }, false, false},
		"summary":          {func(m *schemas.MemoryItem) { m.Kind = schemas.KindSummary }, true, false},
		"personal":         {func(m *schemas.MemoryItem) { m.SecurityLabel = append(m.SecurityLabel, "pii:health") }, true, true},
		"flagged whole":    {func(m *schemas.MemoryItem) { m.PIIFlags = []string{"$.content"} }, true, true},
		"flagged category": {func(m *schemas.MemoryItem) { m.PIIFlags = []string{"$.category"} }, false, true},
		"flagged speaker":  {func(m *schemas.MemoryItem) { m.PIIFlags = []string{"$.speaker"} }, false, false},
	} {
		m := schemas.MemoryItem{ID: "a", Kind: schemas.KindMemory, Category: "health", Speaker: "Ana", Content: schemas.TextContent("cholera"),
			CreatedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), SecurityLabel: []string{"level:internal", "team:x"}}
		tc.change(&m)
		rec := &schemas.Record{MemoryItem: m, Facets: m.Facets()}
		f := isolation.Indexed(rec, isolation.Public("acme", z, rec))
		if got := slices.Contains(f.Labels, schemas.LabelUnsettled); got != tc.unsettled || !slices.IsSorted(f.Labels) {
			t.Errorf("%s: unsettled %v, labels %v", name, got, f.Labels)
		}
		if got := f.Category == schemas.CategoryHidden; got != tc.covered || !got && f.Category != "health" {
			t.Errorf("%s: the category is %q", name, f.Category)
		}
		if passes := schemas.MatchAll().Settled().Match(&f); passes == tc.unsettled {
			t.Errorf("%s: counted %v", name, passes)
		}
		if slices.Contains(rec.Facets.Labels, schemas.LabelUnsettled) || rec.Facets.Category != "health" {
			t.Errorf("%s: what policy sees is changed", name)
		}
	}
	if schemas.ValidLabel(schemas.LabelUnsettled) {
		t.Error("an item can have the label of the indexes")
	}
}
