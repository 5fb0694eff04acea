package roles

import (
	"math/rand/v2"
	"testing"
	"time"

	"satchel/schemas"
)

// Steps get the quotations with the greatest sum of scores, each quotation once, as trying all ways finds them; a plan of
// 64 steps takes no longer than its size.
func TestHeadsHaveTheGreatestSum(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		c := quotes{plan: make([]schemas.PlanStep, 1+random.IntN(4)), list: make([]quotation, random.IntN(6))}
		for range c.plan {
			row := make([]float64, len(c.list))
			for i := range row {
				row[i] = random.Float64()
			}
			c.scores = append(c.scores, row)
		}
		sum, once := 0.0, map[int]bool{}
		for s, i := range c.heads(leastScore) {
			if i < 0 {
				continue
			}
			if once[i] || c.scores[s][i] < leastScore {
				t.Fatalf("step %d begins with %d of %v", s, i, c.scores)
			}
			once[i] = true
			sum += c.scores[s][i]
		}
		if best := c.most(0, map[int]bool{}); best-sum > 1e-9 {
			t.Fatalf("sum %g, and %g can be had: %v", sum, best, c.scores)
		}
	}
	c := quotes{plan: make([]schemas.PlanStep, 64), list: make([]quotation, 300)}
	for range c.plan {
		row := make([]float64, len(c.list))
		for i := range row {
			row[i] = random.Float64()
		}
		c.scores = append(c.scores, row)
	}
	if heads := c.heads(leastScore); len(heads) != len(c.plan) {
		t.Errorf("%d heads of %d steps", len(heads), len(c.plan))
	}
}

// most tries all ways.
func (c *quotes) most(s int, taken map[int]bool) float64 {
	if s == len(c.plan) {
		return 0
	}
	best := c.most(s+1, taken)
	for i := range c.list {
		if !taken[i] && c.scores[s][i] >= leastScore {
			taken[i] = true
			best = max(best, c.scores[s][i]+c.most(s+1, taken))
			taken[i] = false
		}
	}
	return best
}

// TestAnotherWriterReplacesNothing: a later note of another writer does not come before a note about the same thing.
func TestAnotherWriterReplacesNothing(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := quotation{note: true, writer: "finance", made: at, vector: []float32{1}}
	later := first
	later.made = at.AddDate(0, 1, 0)
	c := quotes{}
	if !c.replaces(&later, &first) {
		t.Error("a later note of the same writer does not replace the first")
	}
	if later.writer = "eve"; c.replaces(&later, &first) {
		t.Error("a note of another writer replaces the first")
	}
}
