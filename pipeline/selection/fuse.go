package selection

import (
	"math"
)

// kernel damps what a turn takes from its neighbours and what it gives to them:
//
//	K(S)i = S_i + g_i·[ near·Σ_{±1} √g_j·S_j + far·Σ_{±2} √g_j·S_j ],  g = min(1, damping/terms)
//
// Long turns share little, so that an answer of a page does not lift its question.
type kernel struct{ near, far, damping float64 }

func (k kernel) g(terms int32) float64 {
	if terms <= 0 || k.damping <= 0 {
		return 1
	}
	return min(1, k.damping/float64(terms))
}

// smooth writes K(raw) of each index into out.
func (k kernel) smooth(p *pool, raw, out []float64) {
	root := make([]float64, len(p.ids))
	for i := range root {
		root[i] = math.Sqrt(k.g(p.terms[i]))
	}
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
}

// spread estimates sd(K(S))/sd(S) and mean(K(S))/mean(S) for scores that neighbours
// share with correlation rho. With g the mean over the items with neighbours:
// Var K = σ²·[1 + g³(2a²+2b²) + 2ρ·g^1.5·(2a+2b) + …], cut after the terms that matter.
func (k kernel) spread(p *pool, rho float64) (sd, mean float64) {
	var g, n, linked float64
	for i := range p.ids {
		if len(p.near[i]) > 0 {
			g += k.g(p.terms[i])
			linked++
		}
		n++
	}
	if linked == 0 {
		return 1, 1
	}
	g /= linked
	a, b := k.near*math.Pow(g, 1.5), k.far*math.Pow(g, 1.5)
	variance := 1 + 2*a*a + 2*b*b + rho*(4*a+4*b) + rho*(2*a*a+2*b*b+8*a*b)
	return math.Sqrt(variance), 1 + 2*a + 2*b
}

// fuse writes the weighted sum of the channels' z-scores to p.fused.
func (p *pool) fuse(k kernel) {
	clear(p.fused)
	smoothed := make([]float64, len(p.ids))
	for _, c := range p.channels {
		k.smooth(p, c.raw, smoothed)
		sd, mean := k.spread(p, correlation(c.name))
		sd *= deviation(c.found.SD)
		mean *= c.found.Mean
		for i := range p.ids {
			c.z[i] = (smoothed[i] - mean) / sd
			p.fused[i] += c.weight * c.z[i]
		}
	}
}

// correlation of a channel's scores between turns next to each other, as measured
// on conversations.
func correlation(name string) float64 {
	if name == NameVector {
		return .2
	}
	return .1
}
