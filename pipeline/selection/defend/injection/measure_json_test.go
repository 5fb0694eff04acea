package injection

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMeasureJSON reports what becomes of texts once they stand in JSON, where there are
// evaluation data: chat turns of locomo, questions of bfcl-tools, and the labelled set.
func TestMeasureJSON(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SATCHEL_EVAL_DATA")
	if dir == "" {
		t.Skip("SATCHEL_EVAL_DATA is not set")
	}
	c := setup(t)
	turns := readLabelled(t, filepath.Join(dir, "locomo", "memories.jsonl"))
	asked := readLabelled(t, filepath.Join(dir, "bfcl-tools", "queries.jsonl"))
	set := readLabelled(t, filepath.Join(dir, "injection", "texts.jsonl"))
	report := func(name string, wrap func(string) string) {
		rate := func(rows []labelled, label int) (flagged, dropped, n float64) {
			for _, r := range rows {
				if r.Label != label {
					continue
				}
				f := c.Judge(wrap(r.Text))
				n++
				if f.Score >= Threshold {
					flagged++
					if f.Orders && f.Score >= .6 {
						dropped++
					}
				}
			}
			return flagged / n, dropped / n, n
		}
		scored := slices.Clone(set)
		for i := range scored {
			scored[i].score = c.Score(wrap(scored[i].Text))
		}
		t.Logf("%s: AUROC %.4f", name, auroc(scored, nil))
		for _, of := range []struct {
			name  string
			rows  []labelled
			label int
		}{{"turns", turns, 0}, {"requests", asked, 0}, {"harmless", set, 0}, {"injected", set, 1}} {
			f, d, n := rate(of.rows, of.label)
			t.Logf("  %-9s %5.0f: flagged %.4f, dropped %.4f", of.name, n, f, d)
		}
	}
	report("plain", func(text string) string { return text })
	all := frames()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		report(name, func(text string) string { return all[name].wrap(t, text) })
	}
}
