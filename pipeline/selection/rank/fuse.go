package rank

import (
	"math"

	"satchel/pipeline/selection/retrieve"
)

// kernel damps what a turn takes from its neighbours and what it gives to them:
//
//	K(S)i = S_i + g_i·[ near·Σ_{±1} √g_j·S_j + far·Σ_{±2} √g_j·S_j ],  g = min(1, damping/terms)
//
// Long turns share little, so that an answer of a page does not lift its question.
type kernel struct{ near, far, damping float64 }

func (k kernel) computeDamping(terms int32) float64 {
	if terms <= 0 || k.damping <= 0 {
		return 1
	}
	return min(1, k.damping/float64(terms))
}

// writeRoots writes √g of each index into p.roots.
func (k kernel) writeRoots(p *Pool) {
	p.roots = lengthenSlice(p.roots, len(p.ids))
	for i := range p.ids {
		p.roots[i] = math.Sqrt(k.computeDamping(p.terms[i]))
	}
}

// smoothScores returns K(raw) of each index, until it is called again; p.roots is current.
func (k kernel) smoothScores(p *Pool, raw []float64) []float64 {
	p.smoothed = lengthenSlice(p.smoothed, len(p.ids))
	root := p.roots
	out := p.smoothed
	for i := range p.ids {
		v := raw[i]
		if list := p.near[i]; len(list) > 0 {
			var one, two float64
			for _, n := range list {
				if n.offset == 1 || n.offset == -1 {
					one += root[n.at] * raw[n.at]
				} else {
					two += root[n.at] * raw[n.at]
				}
			}
			v += root[i] * root[i] * (k.near*one + k.far*two)
		}
		out[i] = v
	}
	return out
}

// estimateMoments estimates the moments of K(S) over the tenant from those of S, taking the
// neighbourhoods in the pool for those of the tenant. With w_ij what i takes of j,
// A_i = Σ_j w_ij, B_i = Σ_j w_ij², and rho the correlation of S between neighbours:
//
//	mean K = mean·(1 + E[A])
//	var K  = sd²·(1 + E[B] + rho·(2E[A] + E[A²] − E[B])) + mean²·var A
//
// The last term is there because turns of different length take differently much.
// p.roots is current.
func (k kernel) estimateMoments(p *Pool, rho, mean, sd float64) (meanK, sdK float64) {
	var n, sumA, squareA, sumB float64
	for i := range p.ids {
		if len(p.near[i]) == 0 {
			continue
		}
		g := k.computeDamping(p.terms[i])
		a := 0.0
		b := 0.0
		for _, other := range p.near[i] {
			w := g * k.far * p.roots[other.at]
			if other.offset == 1 || other.offset == -1 {
				w = g * k.near * p.roots[other.at]
			}
			a += w
			b += w * w
		}
		n++
		sumA += a
		squareA += a * a
		sumB += b
	}
	if n == 0 {
		return mean, sd
	}
	a := sumA / n
	a2 := squareA / n
	b := sumB / n
	variance := sd*sd*(1+b+rho*(2*a+a2-b)) + mean*mean*max(0, a2-a*a)
	return mean * (1 + a), math.Sqrt(variance)
}

// fuseChannels writes the weighted sum of the channels' z-scores to p.fused, weighed for the
// query.
func (p *Pool) fuseChannels(k kernel, q *weighing) {
	clear(p.fused)
	k.writeRoots(p)
	for _, c := range p.channels {
		smoothed := k.smoothScores(p, c.raw)
		mean, sd := k.estimateMoments(p, findCorrelation(c.name), c.found.Mean, repairDeviation(c.found.SD))
		weight := q.findFactor(c.name) * c.weight
		for i := range p.ids {
			c.z[i] = (smoothed[i] - mean) / sd
			p.fused[i] += weight * q.dampScore(c.name, c.z[i])
		}
	}
}

// findCorrelation of a channel's scores between turns next to each other, as measured
// on conversations.
func findCorrelation(name string) float64 {
	if name == retrieve.NameVector || name == retrieve.NameEncoder {
		return .18
	}
	return .13
}
