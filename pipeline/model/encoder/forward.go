package encoder

import (
	"context"
	"fmt"
	"math"
	"unsafe"
)

const (
	// headWidth is how many dimensions an attention head has.
	headWidth = panelWidth
	// block is how many rows go through a matrix at once, so that they stay in the cache.
	block = 96
)

// state is the memory of one batch. It is made once and used again.
type state struct {
	kernels
	weights *weights

	pieces []uint16 // of all texts of the batch
	ends   []int    // where each text ends in pieces
	texts  []int    // which texts they are

	panel  panel
	x      []float32 // a row for each piece
	added  []float32 // a block of rows that are added to x
	wide   []float32 // a block of rows of the widest matrix
	bytes  []uint8   // a block of quantised rows
	scale  []float32 // of each row of bytes
	zero   []int32   // of each row of bytes
	heads  []int8    // queries, keys and values of each piece
	shares []float32 // the scale of each head's query, key and value of each piece
	mixed  []float32 // what attention makes of each piece

	attention attention
}

// newState makes room for batches of so many rows, pieces of all their texts.
func newState(k kernels, w *weights, rows int) *state {
	widest := max(3*w.dimensions, w.inner)
	return &state{
		kernels: k, weights: w,
		pieces: make([]uint16, 0, rows), ends: make([]int, 0, rows), texts: make([]int, 0, rows),
		x: make([]float32, rows*w.dimensions), added: make([]float32, block*w.dimensions), wide: make([]float32, block*widest),
		bytes: make([]uint8, block*max(w.dimensions, w.inner)), scale: make([]float32, block), zero: make([]int32, block),
		heads: make([]int8, rows*3*w.dimensions), shares: make([]float32, rows*3*w.dimensions/headWidth),
		mixed:     make([]float32, rows*w.dimensions),
		attention: newAttention(),
	}
}

// encodePieces takes the pieces through all layers and looks at ctx before each of them.
func (s *state) encodePieces(ctx context.Context) error {
	s.embedPieces()
	for i := range s.weights.layers {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("encode layer %d of %d: %w", i+1, len(s.weights.layers), err)
		}
		s.applyLayer(&s.weights.layers[i])
	}
	return nil
}

// embedPieces sets the rows of x to their pieces' rows plus those of their positions, normalised.
func (s *state) embedPieces() {
	w := s.weights
	d := w.dimensions
	start := 0
	for _, end := range s.ends {
		for i := start; i < end; i++ {
			piece := int(s.pieces[i])
			row := w.pieceRows[piece*d : (piece+1)*d]
			scale := decodeFloat(w.pieceScales, piece)
			position := w.positionRows[(i-start)*d*number : (i-start+1)*d*number]
			x := s.x[i*d : (i+1)*d]
			added := s.added[:d]
			for j, n := range row {
				x[j] = float32(int8(n)) * scale
				added[j] = decodeFloat(position, j)
			}
			s.normalise(x, added, w.embedded.restore, w.embedded.gamma, w.embedded.beta)
		}
		start = end
	}
}

func (s *state) applyLayer(l *layer) {
	d := s.weights.dimensions
	rows := len(s.pieces)
	for first := 0; first < rows; first += block {
		n := min(block, rows-first)
		s.quantiseRows(s.x[first*d:(first+n)*d], d)
		s.multiplyRows(s.wide, &l.attention, n)
		for i := range n {
			at := (first + i) * 3 * d
			row := s.wide[i*3*d : (i+1)*3*d]
			s.groups(s.heads[at:at+3*d], s.shares[at/headWidth:(at+3*d)/headWidth], row)
			copy(s.mixed[(first+i)*d:(first+i+1)*d], row[2*d:]) // the values, until attention replaces them
		}
	}
	start := 0
	for _, end := range s.ends {
		for head := range d / headWidth {
			s.attendHead(start, end, head)
		}
		start = end
	}
	for first := 0; first < rows; first += block {
		n := min(block, rows-first)
		x := s.x[first*d : (first+n)*d]
		s.quantiseRows(s.mixed[first*d:(first+n)*d], d)
		s.multiplyRows(s.added, &l.out, n)
		s.addNormal(x, &l.attended)
		s.quantiseRows(x, d)
		s.multiplyRows(s.wide, &l.up, n)
		inner := s.wide[:n*l.up.width]
		s.gelu(inner)
		s.quantiseRows(inner, l.up.width)
		s.multiplyRows(s.added, &l.down, n)
		s.addNormal(x, &l.done)
	}
}

// addNormal adds the rows of added to those of x and normalises them.
func (s *state) addNormal(x []float32, by *norm) {
	d := s.weights.dimensions
	for at := 0; at < len(x); at += d {
		s.normalise(x[at:at+d], s.added[at:at+d], by.restore, by.gamma, by.beta)
	}
}

// quantiseRows sets bytes, scale and zero to the rows of x, each of width numbers.
func (s *state) quantiseRows(x []float32, width int) {
	for r := range len(x) / width {
		row := x[r*width : (r+1)*width]
		low, high := s.extent(row)
		factor := float32(0)
		scale := float32(0)
		zero := int32(0)
		if span := high - low; span > 0 {
			factor = 255 / span
			scale = span / 255
			zero = int32(roundToEven(-low * factor))
		}
		s.toBytes(s.bytes[r*width:(r+1)*width], row, factor, zero)
		s.scale[r] = scale
		s.zero[r] = zero
	}
}

// multiplyRows sets the first rows of out to those of bytes times m.
func (s *state) multiplyRows(out []float32, m *matrix, rows int) {
	s.panel = panel{a: &s.bytes[0], stride: m.depth, steps: m.depth / (2 * quad), rowScale: &s.scale[0], rowZero: &s.zero[0],
		outStride: m.width * number}
	for c := 0; c < m.width; c += panelWidth {
		p := &s.panel
		p.rows = rows
		p.weights = (*int8)(unsafe.Pointer(&m.weights[c*m.depth]))
		p.sums = &m.sums[c]
		p.scale = &m.scale[c]
		p.bias = &m.bias[c]
		p.out = &out[c]
		s.product(p)
	}
}

// averageRows returns the mean of rows start to end of x, valid until the next call.
func (s *state) averageRows(start, end int) []float32 {
	d := s.weights.dimensions
	mean := s.wide[:d]
	clear(mean)
	for i := start; i < end; i++ {
		for j, v := range s.x[i*d : (i+1)*d] {
			mean[j] += v
		}
	}
	for j := range mean {
		mean[j] /= float32(end - start)
	}
	return mean
}

// normalizeVector scales v to length one, or leaves it zero.
func normalizeVector(v []float32) {
	var squares float64
	for _, n := range v {
		squares += float64(float64(n) * float64(n))
	}
	if squares == 0 {
		return
	}
	factor := 1 / math.Sqrt(squares)
	for i, n := range v {
		v[i] = float32(float64(n) * factor)
	}
}
