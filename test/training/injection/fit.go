package main

import (
	"math"
	"math/rand/v2"

	"satchel/pipeline/selection/defend/injection"
)

const heads = 5

// example is a sentence with its labels: 1, 0, or −1 for unknown.
type example struct {
	text   string
	labels [heads]int8
}

// fitSentences trains the first stage by AdaGrad on the logistic loss, dropping some of
// the features of every sentence.
func fitSentences(rng *rand.Rand, words *injection.Groups, list []example, epochs int) *injection.Model {
	features := make([][]uint32, len(list))
	for i := range list {
		features[i] = words.Features(nil, list[i].text)
	}
	weights := make([][heads]float32, injection.Buckets)
	squares := make([][heads]float32, injection.Buckets)
	var bias, biasSquares [heads]float32
	order := rng.Perm(len(list))
	const rate, decay, drop = .6, 3e-6, .15
	kept := make([]uint32, 0, 512)
	for range epochs {
		rng.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		for _, i := range order {
			kept = kept[:0]
			for _, f := range features[i] {
				if rng.Float32() >= drop {
					kept = append(kept, f)
				}
			}
			if len(kept) == 0 {
				continue
			}
			unit := float32(1 / math.Sqrt(float64(len(kept))))
			for h := range heads {
				want := list[i].labels[h]
				if want < 0 {
					continue
				}
				z := bias[h]
				for _, f := range kept {
					z += weights[f][h] * unit
				}
				g := float32(1/(1+math.Exp(-float64(z)))) - float32(want)
				biasSquares[h] += g * g
				bias[h] -= .1 * g / float32(math.Sqrt(float64(biasSquares[h]))+1e-6)
				for _, f := range kept {
					step := g*unit + decay*weights[f][h]
					squares[f][h] += step * step
					weights[f][h] -= rate * step / (float32(math.Sqrt(float64(squares[f][h]))) + 1e-3)
				}
			}
		}
	}
	return words.NewModel(weights, bias)
}

// row is a document as the second stage sees it.
type row struct {
	x    [injection.Inputs]float32
	want float32
}

// network is the second stage while it is trained.
type network struct {
	first  [injection.Hidden][injection.Inputs]float32
	shift  [injection.Hidden]float32
	second [injection.Hidden]float32
	offset float32
}

// fitDocuments trains the second stage by Adam on the logistic loss.
func fitDocuments(rng *rand.Rand, rows []row, epochs int) *network {
	n := &network{}
	for i := range n.first {
		for j := range n.first[i] {
			n.first[i][j] = float32(rng.NormFloat64()) * .15
		}
		n.second[i] = float32(rng.NormFloat64()) * .2
	}
	var mean, square network
	order := rng.Perm(len(rows))
	step := 0
	for epoch := range epochs {
		rate := .003 * (1 - float64(epoch)/float64(epochs))
		rng.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		for at := 0; at+64 <= len(order); at += 64 {
			var grad network
			for _, i := range order[at : at+64] {
				n.gradient(&rows[i], &grad)
			}
			step++
			n.adam(&grad, &mean, &square, rate, step)
		}
	}
	return n
}

func (n *network) gradient(r *row, grad *network) {
	var active [injection.Hidden]float32
	z := n.offset
	for i := range n.first {
		sum := n.shift[i]
		for j, v := range r.x {
			sum += n.first[i][j] * v
		}
		active[i] = max(0, sum)
		z += active[i] * n.second[i]
	}
	want := .98*r.want + .01
	g := (float32(1/(1+math.Exp(-float64(z)))) - want) / 64
	grad.offset += g
	for i := range n.first {
		grad.second[i] += g * active[i]
		if active[i] == 0 {
			continue
		}
		d := g * n.second[i]
		grad.shift[i] += d
		for j, v := range r.x {
			grad.first[i][j] += d * v
		}
	}
}

func (n *network) adam(grad, mean, square *network, rate float64, step int) {
	g, m, s, p := grad.list(), mean.list(), square.list(), n.list()
	c1, c2 := 1-math.Pow(.9, float64(step)), 1-math.Pow(.999, float64(step))
	for i := range p {
		d := *g[i] + 1e-5*(*p[i])
		*m[i] = .9*(*m[i]) + .1*d
		*s[i] = .999*(*s[i]) + .001*d*d
		*p[i] -= float32(rate * float64(*m[i]) / c1 / (math.Sqrt(float64(*s[i])/c2) + 1e-8))
	}
}

func (n *network) list() []*float32 {
	out := make([]*float32, 0, injection.Hidden*(injection.Inputs+2)+1)
	for i := range n.first {
		for j := range n.first[i] {
			out = append(out, &n.first[i][j])
		}
		out = append(out, &n.shift[i], &n.second[i])
	}
	return append(out, &n.offset)
}
