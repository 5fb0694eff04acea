package injection

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMeasureJSON reports what becomes of texts once they stand in JSON, where there are
// evaluation data: chat turns of locomo, questions of bfcl-tools, and the labelled set. Within a
// frame they must be judged as they are without.
func TestMeasureJSON(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SATCHEL_EVAL_DATA")
	if dir == "" {
		t.Skip("SATCHEL_EVAL_DATA is not set")
	}
	c := setup(t)
	set := readLabelled(t, filepath.Join(dir, "injection", "texts.jsonl"))
	lists := map[string][]labelled{
		"turns":    readLabelled(t, filepath.Join(dir, "locomo", "memories.jsonl")),
		"requests": readLabelled(t, filepath.Join(dir, "bfcl-tools", "queries.jsonl")),
	}
	for _, r := range set {
		name := map[int]string{0: "harmless", 1: "injected"}[r.Label]
		lists[name] = append(lists[name], r)
	}
	all := frames()
	plain := c.measure(t, "plain", func(text string) string { return text }, set, lists)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		framed := c.measure(t, name, func(text string) string { return all[name].wrap(t, text) }, set, lists)
		for what, rate := range framed {
			if math.Abs(rate-plain[what]) > .005 {
				t.Errorf("%s: %s is %.4f, and %.4f of the plain texts", name, what, rate, plain[what])
			}
		}
	}
}

// measure reports the AUROC of a labelled set, and the parts of lists that are flagged and left out.
func (c *Classifier) measure(
	t *testing.T, name string, wrap func(string) string, set []labelled, lists map[string][]labelled,
) map[string]float64 {
	t.Helper()
	set = slices.Clone(set)
	for i := range set {
		set[i].score = c.Score(wrap(set[i].Text))
	}
	out := map[string]float64{"AUROC": auroc(set, nil)}
	for of, rows := range lists {
		var flagged, dropped float64
		for _, r := range rows {
			f := c.Judge(wrap(r.Text))
			if f.Score >= Threshold {
				flagged++
			}
			if f.Score >= .6 && f.Orders {
				dropped++
			}
		}
		out[of+" flagged"], out[of+" left out"] = flagged/float64(len(rows)), dropped/float64(len(rows))
	}
	for _, what := range slices.Sorted(maps.Keys(out)) {
		t.Logf("%s: %s %.4f", name, what, out[what])
	}
	return out
}
