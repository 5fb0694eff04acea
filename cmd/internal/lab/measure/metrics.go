// Package measure scores rankings and packs against labelled questions. It knows the
// layout of an evaluation folder (memories.jsonl or tools.jsonl, queries.jsonl) and
// the measures; who ranks is the caller's.
//
// Measures, over the queries that have labels: recall@k = |top k ∩ relevant| /
// |relevant|; nDCG@10 with gain = grade (1 without grades) and discount
// 1/log2(rank+1); MRR = 1/rank of the first relevant; evidence = the share of the
// relevant items that stand in a pack of a token budget; shown = the share of the
// relevant items' text that stands there, which is less where an extract stands for an
// item; session@5 = whether any relevant session is among the first five; common = the
// share of the question's words that stand in what is relevant.
package measure

import (
	"math"
	"slices"
)

// Score holds the measures of one query.
type Score struct {
	Recall5, Recall10, Recall20 float64
	NDCG10, MRR                 float64
	Session5                    float64         // whether a relevant session is among the first five
	Common                      float64         // the share of the question's words that stand in what is relevant
	Evidence                    map[int]float64 // by token budget
	Shown                       map[int]float64 // the same by the share of the text
	Answered                    map[int]float64 // the share of the answer's terms in a pack
	Tokens                      map[int]float64
	MS                          float64
}

// Labels are what is right for a query: grades by id, 1 without grades.
type Labels map[string]float64

// Rank scores a ranking of distinct ids, best first.
func Rank(ranked []string, labels Labels) Score {
	var s Score
	s.Recall5, s.Recall10, s.Recall20 = recall(ranked, labels, 5), recall(ranked, labels, 10), recall(ranked, labels, 20)
	s.NDCG10 = ndcg(ranked, labels, 10)
	for i, id := range ranked {
		if labels[id] > 0 {
			s.MRR = 1 / float64(i+1)
			break
		}
	}
	return s
}

// recall returns the part of the relevant ids that is among the first k.
func recall(ranked []string, labels Labels, k int) float64 {
	if len(labels) == 0 {
		return 0
	}
	found := 0
	for _, id := range ranked[:min(k, len(ranked))] {
		if labels[id] > 0 {
			found++
		}
	}
	return float64(found) / float64(len(labels))
}

func ndcg(ranked []string, labels Labels, k int) float64 {
	var dcg float64
	for i, id := range ranked[:min(k, len(ranked))] {
		dcg += labels[id] / math.Log2(float64(i+2))
	}
	grades := make([]float64, 0, len(labels))
	for _, g := range labels {
		grades = append(grades, g)
	}
	slices.SortFunc(grades, func(a, b float64) int {
		if a > b {
			return -1
		}
		return 1
	})
	var ideal float64
	for i, g := range grades[:min(k, len(grades))] {
		ideal += g / math.Log2(float64(i+2))
	}
	if ideal == 0 {
		return 0
	}
	return dcg / ideal
}

// Percentiles sorts times and returns the 50th and the 95th percentile; zeros for none.
func Percentiles(times []float64) (p50, p95 float64) {
	n := len(times)
	if n == 0 {
		return 0, 0
	}
	slices.Sort(times)
	return times[n/2], times[min(n-1, n*95/100)]
}

// mean averages scores; the zero Score for none.
func mean(scores []Score) Score {
	m := Score{Evidence: map[int]float64{}, Shown: map[int]float64{}, Answered: map[int]float64{}, Tokens: map[int]float64{}}
	if len(scores) == 0 {
		return m
	}
	n := float64(len(scores))
	for _, s := range scores {
		m.Recall5 += s.Recall5 / n
		m.Recall10 += s.Recall10 / n
		m.Recall20 += s.Recall20 / n
		m.NDCG10 += s.NDCG10 / n
		m.MRR += s.MRR / n
		m.Session5 += s.Session5 / n
		m.Common += s.Common / n
		m.MS += s.MS / n
		for _, by := range []struct{ mean, of map[int]float64 }{{m.Evidence, s.Evidence}, {m.Answered, s.Answered}, {m.Shown, s.Shown}, {m.Tokens, s.Tokens}} {
			for budget, v := range by.of {
				by.mean[budget] += v / n
			}
		}
	}
	return m
}
