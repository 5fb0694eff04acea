package rank

import (
	"math"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// Chance says how likely an item is to answer: a logistic of how much it bears on the question by itself and of how many
// deviations it stands behind the best of its group.
type Chance struct {
	Own    float64 // of the logit of how much it bears on the question
	Behind float64 // for each deviation behind the best of its group; positive
	Bias   float64
}

// The groups of items that have chances of their own.
const (
	memories = iota // notes and turns of conversations
	documents
	tools
	groups
)

func groupOf(v *candidate.Visible) int {
	switch v.Kind {
	case schemas.KindTool:
		return tools
	case schemas.KindCode, schemas.KindCommit, schemas.KindKnowledge:
		return documents
	}
	return memories
}

// computeLogit is that of the chance of an item that bears so much on the question and stands so many deviations behind the best.
func (c *Chance) computeLogit(bears, behind float64) float64 {
	bears = min(max(bears, leastBearing), 1-leastBearing)
	return c.Bias + c.Own*math.Log(bears/(1-bears)) - c.Behind*behind
}

// leastBearing keeps a logit finite.
const leastBearing = 1e-4

// weighChance turns the fused scores of the places into heights, which order items as their chances do and compare between
// groups. A height is in deviations, like a fused score.
func (r *Ranker) weighChance(p *Pool, at []int32) {
	chances := p.chooseChances(r)
	best := [groups]float64{}
	for g := range best {
		best[g] = math.Inf(-1)
	}
	p.top = math.Inf(-1)
	for _, i := range at {
		g := groupOf(p.items[i])
		p.sums[i], best[g], p.top = p.fused[i], max(best[g], p.fused[i]), max(p.top, p.fused[i])
	}
	for _, i := range at {
		g := groupOf(p.items[i])
		p.fused[i] = p.top + chances[g].computeLogit(p.relevant[i], best[g]-p.fused[i])/chances[memories].Behind
	}
}

// chooseChances are those for what was asked about the pool.
func (p *Pool) chooseChances(r *Ranker) *[groups]Chance {
	if p.findChannel(retrieve.NameEncoder) != nil {
		return &r.weights.Encoded
	}
	return &r.weights.Chances
}

// estimateChance is the probability that an item answers.
func (r *Ranker) estimateChance(p *Pool, i int32) float64 {
	return 1 / (1 + math.Exp(p.chooseChances(r)[memories].Behind*(p.top-p.fused[i])))
}
