package encoderref

import "math"

// Vector returns the mean of the last layer's rows of a text's pieces, with length one.
func (m *Model) Vector(pieces []int) []float32 {
	return m.vector(pieces, func(int, []float32) {})
}

// vector is Vector. It calls seen with the rows after each normalisation, numbered from 0.
func (m *Model) vector(pieces []int, seen func(norm int, rows []float32)) []float32 {
	d, n := m.Dimensions, len(pieces)
	x, positions := make([]float32, 0, n*d), m.PositionRows[:n*d]
	for _, p := range pieces {
		x = append(x, m.PieceRows[p*d:(p+1)*d]...)
	}
	normalise(x, positions, m.Embedded)
	seen(0, x)
	for i := range m.Layers {
		l := &m.Layers[i]
		normalise(x, l.Out.apply(attend(l.Attention.apply(x), d, n)), l.Attended)
		seen(2*i+1, x)
		inner := l.Up.apply(x)
		for i, v := range inner {
			inner[i] = float32(float64(v) * .5 * (1 + math.Erf(float64(v)/math.Sqrt2)))
		}
		normalise(x, l.Down.apply(inner), l.Done)
		seen(2*i+2, x)
	}
	return pool(x, d)
}

// apply returns the product of each row of x and the matrix. It takes two rows and four columns
// at a time.
func (m *Matrix) apply(x []float32) []float32 {
	d, width := m.Depth, len(m.Bias)
	out := make([]float32, len(x)/d*width)
	for c := 0; c < width; c += 4 {
		w0, w1, w2, w3 := m.Weights[c*d:][:d], m.Weights[(c+1)*d:][:d], m.Weights[(c+2)*d:][:d], m.Weights[(c+3)*d:][:d]
		for r := 0; r < len(x)/d; r += 2 {
			x0 := x[r*d:][:d]
			x1 := x0 // of an odd number of rows the last one goes twice
			if (r+1)*d < len(x) {
				x1 = x[(r+1)*d:][:d]
			}
			var a0, a1, a2, a3, b0, b1, b2, b3 float32
			for k, u := range x0 {
				v := x1[k]
				a0, a1, a2, a3 = a0+u*w0[k], a1+u*w1[k], a2+u*w2[k], a3+u*w3[k]
				b0, b1, b2, b3 = b0+v*w0[k], b1+v*w1[k], b2+v*w2[k], b3+v*w3[k]
			}
			add(out[r*width+c:], m.Bias[c:], a0, a1, a2, a3)
			if (r+1)*d < len(x) {
				add(out[(r+1)*width+c:], m.Bias[c:], b0, b1, b2, b3)
			}
		}
	}
	return out
}

// add sets the first numbers of dst to sums plus bias.
func add(dst, bias []float32, sums ...float32) {
	for i, v := range sums {
		dst[i] = v + bias[i]
	}
}

// attend mixes the values of n pieces, whose rows have d queries, d keys and d values.
func attend(rows []float32, d, n int) []float32 {
	out := make([]float32, n*d)
	weights := make([]float64, n)
	for head := 0; head < d; head += HeadWidth {
		for i := range n {
			query := rows[i*3*d+head:][:HeadWidth]
			var total float64
			for j := range n {
				var score float64
				for k, v := range rows[j*3*d+d+head:][:HeadWidth] {
					score += float64(query[k]) * float64(v)
				}
				weights[j] = math.Exp(score / math.Sqrt(HeadWidth))
				total += weights[j]
			}
			for j := range n {
				for k, v := range rows[j*3*d+2*d+head:][:HeadWidth] {
					out[i*d+head+k] += float32(weights[j] / total * float64(v))
				}
			}
		}
	}
	return out
}

// normalise multiplies each row of x with by.Restore, adds a row of y, and brings the sum to
// mean 0 and variance 1, times gamma plus beta.
func normalise(x, y []float32, by Norm) {
	d := len(by.Gamma)
	for at := 0; at < len(x); at += d {
		row := x[at : at+d]
		var mean, variance float64
		for i, v := range y[at : at+d] {
			row[i] = row[i]*by.Restore[i] + v
			mean += float64(row[i]) / float64(d)
		}
		for _, v := range row {
			variance += (float64(v) - mean) * (float64(v) - mean) / float64(d)
		}
		factor := 1 / math.Sqrt(variance+1e-12)
		for i, v := range row {
			row[i] = float32((float64(v)-mean)*factor)*by.Gamma[i] + by.Beta[i]
		}
	}
}

// pool returns the mean of the rows of x, with length one.
func pool(x []float32, d int) []float32 {
	mean := make([]float64, d)
	for i, v := range x {
		mean[i%d] += float64(v)
	}
	var squares float64
	for _, v := range mean {
		squares += v * v
	}
	out := make([]float32, d)
	for i, v := range mean {
		out[i] = float32(v / math.Sqrt(squares))
	}
	return out
}
