package injection

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

type labelled struct {
	ID     string
	Text   string
	Label  int
	Source string
	Kind   string
	score  float64
}

// TestMeasure reports areas and rates on the evaluation data, where there are any:
// SATCHEL_EVAL_DATA names the folder with injection/texts.jsonl. Nothing is tuned to it.
func TestMeasure(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SATCHEL_EVAL_DATA")
	if dir == "" {
		t.Skip("SATCHEL_EVAL_DATA is not set")
	}
	rows := readLabelled(t, filepath.Join(dir, "injection", "texts.jsonl"))
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	bytes, start := 0, time.Now()
	for i := range rows {
		rows[i].score = c.Score(rows[i].Text)
		bytes += len(rows[i].Text)
	}
	took := time.Since(start)
	t.Logf("%d texts of %d bytes on average, %.1f µs each", len(rows), bytes/len(rows), float64(took.Microseconds())/float64(len(rows)))
	at := atRate(rows, .02)
	t.Logf("AUROC %.4f; threshold %.2f; at 2%% false alarms the threshold is %.3f", auroc(rows, nil), Threshold, at)
	bySource := map[string][]labelled{}
	for _, r := range rows {
		key := r.Source + map[int]string{0: " benign", 1: " injected"}[r.Label]
		bySource[key] = append(bySource[key], r)
		if r.Source == "BIPIA" || r.Source == "ASB" {
			key = "  " + r.Source + " " + r.Kind
			bySource[key] = append(bySource[key], r)
		}
	}
	keys := make([]string, 0, len(bySource))
	for k := range bySource {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		list := bySource[k]
		t.Logf("%-40s %4d  flagged %.3f, at 2%% %.3f, AUROC against the other label %.4f", k, len(list), share(list, Threshold), share(list, at), against(rows, list))
	}
}

func readLabelled(t *testing.T, path string) []labelled {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	var out []labelled
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var r labelled
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func share(list []labelled, at float64) float64 {
	n := 0
	for _, r := range list {
		if r.score >= at {
			n++
		}
	}
	return float64(n) / float64(max(1, len(list)))
}

// against is the AUROC of a list of one label with all rows of the other.
func against(rows, list []labelled) float64 {
	all := slices.Clone(list)
	for _, r := range rows {
		if r.Label != list[0].Label {
			all = append(all, r)
		}
	}
	return auroc(all, nil)
}

func auroc(rows []labelled, keep func(labelled) bool) float64 {
	var pos, neg []float64
	for _, r := range rows {
		if keep != nil && !keep(r) {
			continue
		}
		if r.Label == 1 {
			pos = append(pos, r.score)
		} else {
			neg = append(neg, r.score)
		}
	}
	slices.Sort(neg)
	sum := 0.0
	for _, p := range pos {
		lo, _ := slices.BinarySearch(neg, p)
		hi := lo
		for hi < len(neg) && neg[hi] == p {
			hi++
		}
		sum += float64(lo) + float64(hi-lo)/2
	}
	return sum / float64(max(1, len(pos)*len(neg)))
}

// atRate is the lowest threshold at which the share of benign texts is at most rate.
func atRate(rows []labelled, rate float64) float64 {
	var neg []float64
	for _, r := range rows {
		if r.Label == 0 {
			neg = append(neg, r.score)
		}
	}
	slices.Sort(neg)
	return neg[len(neg)-1-int(rate*float64(len(neg)))] + 1e-9
}
