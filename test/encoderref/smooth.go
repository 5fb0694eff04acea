package encoderref

import "math"

// balance is how much of the differences between dimensions goes from the rows to the weights.
const balance = .6

// Smooth makes rows easier to quantise, and computes the same as before: dimensions that are
// large after a normalisation are divided by a power of two, and the weights that meet them
// are multiplied with it (SmoothQuant, arXiv:2211.10438). It looks at texts, given as pieces,
// to see how large dimensions are. The last normalisation stays as it is.
func (m *Model) Smooth(texts [][]int) {
	greatest := make([][]float32, 2*len(m.Layers)+1)
	for i := range greatest {
		greatest[i] = make([]float32, m.Dimensions)
	}
	for _, pieces := range texts {
		m.vector(pieces, func(norm int, rows []float32) {
			for i, v := range rows {
				at := &greatest[norm][i%m.Dimensions]
				*at = max(*at, v, -v)
			}
		})
	}
	from := &m.Embedded
	for i := range m.Layers {
		l := &m.Layers[i]
		smooth(from, &l.Attention, &l.Attended, greatest[2*i])
		smooth(&l.Attended, &l.Up, &l.Done, greatest[2*i+1])
		from = &l.Done
	}
}

// smooth divides what from makes, of at most these sizes, so that to has it easier and next
// restores it.
func smooth(from *Norm, to *Matrix, next *Norm, greatest []float32) {
	factors, mean := make([]float64, to.Depth), 0.0
	for k := range factors {
		var weight float32
		for at := k; at < len(to.Weights); at += to.Depth {
			weight = max(weight, to.Weights[at], -to.Weights[at])
		}
		factors[k] = balance*math.Log2(float64(greatest[k])) - (1-balance)*math.Log2(float64(weight))
		mean += factors[k] / float64(to.Depth)
	}
	for k, power := range factors {
		factor := float32(math.Exp2(math.Round(power - mean)))
		from.Gamma[k] /= factor
		from.Beta[k] /= factor
		next.Restore[k] = factor
		for at := k; at < len(to.Weights); at += to.Depth {
			to.Weights[at] *= factor
		}
	}
}
