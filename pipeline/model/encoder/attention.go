package encoder

import "math"

// attention is the memory of one head of one text.
type attention struct {
	query      []uint8
	queryScale []float32
	middle     []int32 // the zero of every query
	key        []int8  // in panels of 32 pieces
	keySum     []int32
	keyScale   []float32
	keyBias    []float32
	value      []int8 // one panel, the dimensions are its columns
	valueSum   [panelWidth]int32
	row        [headWidth]uint8
	scores     []float32 // a block of rows
	powers     []uint8   // a block of rows
	one, none  [panelWidth]float32
	zero       []int32
}

func newAttention() attention {
	a := attention{
		query: make([]uint8, MaxTokens*headWidth), queryScale: make([]float32, MaxTokens), middle: make([]int32, MaxTokens),
		key: make([]int8, MaxTokens*headWidth), keySum: make([]int32, MaxTokens),
		keyScale: make([]float32, MaxTokens), keyBias: make([]float32, MaxTokens),
		value:  make([]int8, MaxTokens*headWidth),
		scores: make([]float32, block*MaxTokens), powers: make([]uint8, block*MaxTokens), zero: make([]int32, MaxTokens),
	}
	for i := range a.middle {
		a.middle[i] = 128
	}
	for i := range a.one {
		a.one[i] = 1
	}
	return a
}

// attendHead sets one head's dimensions of rows start to end of mixed: for each piece the mean of
// all pieces' values, weighted by the softmax of its query times their keys.
func (s *state) attendHead(start, end, head int) {
	n := end - start
	a := &s.attention
	d := s.weights.dimensions
	padded := (n + panelWidth - 1) / panelWidth * panelWidth
	s.takeQueries(start, n, head)
	s.takeKeys(start, n, padded, head)
	valueScale := s.takeValues(start, n, padded, head)
	for first := 0; first < n; first += block {
		rows := min(block, n-first)
		s.panel = panel{a: &a.query[first*headWidth], stride: headWidth, steps: headWidth / (2 * quad),
			rowScale: &a.queryScale[first], rowZero: &a.middle[first], outStride: padded * number}
		for c := 0; c < padded; c += panelWidth {
			p := &s.panel
			p.rows = rows
			p.weights = &a.key[c*headWidth]
			p.sums = &a.keySum[c]
			p.scale = &a.keyScale[c]
			p.bias = &a.keyBias[c]
			p.out = &a.scores[c]
			s.product(p)
		}
		for r := range rows {
			sum := s.softmax(a.powers[r*padded:(r+1)*padded], a.scores[r*padded:(r+1)*padded])
			s.scale[r] = valueScale / float32(sum)
		}
		s.panel = panel{a: &a.powers[0], stride: padded, steps: padded / (2 * quad), rows: rows, weights: &a.value[0],
			sums: &a.valueSum[0], scale: &a.one[0], bias: &a.none[0], rowScale: &s.scale[0], rowZero: &a.zero[0],
			out: &s.mixed[(start+first)*d+head*headWidth], outStride: d * number}
		s.product(&s.panel)
	}
}

// findHeadPart returns a query (0), key (1) or value (2) of a head and its scale.
func (s *state) findHeadPart(row, which, head int) (numbers []int8, scale float32) {
	d := s.weights.dimensions
	at := row*3*d + which*d + head*headWidth
	return s.heads[at : at+headWidth : at+headWidth], s.shares[at/headWidth]
}

func (s *state) takeQueries(start, n, head int) {
	a := &s.attention
	for i := range n {
		numbers, scale := s.findHeadPart(start+i, 0, head)
		for j, v := range numbers {
			a.query[i*headWidth+j] = uint8(v) ^ 128
		}
		a.queryScale[i] = scale
	}
}

// takeKeys lays out the keys as columns. Scores are for powers of two.
func (s *state) takeKeys(start, n, padded, head int) {
	a := &s.attention
	power := float32(math.Log2E / math.Sqrt(headWidth))
	for i := range padded {
		column := a.key[i/panelWidth*panelWidth*headWidth+i%panelWidth*quad:]
		if i >= n {
			for q := range headWidth / quad {
				clear(column[q*panelWidth*quad:][:quad])
			}
			a.keySum[i] = 0
			a.keyScale[i] = 0
			a.keyBias[i] = absent
			continue
		}
		numbers, scale := s.findHeadPart(start+i, 1, head)
		var sum int32
		for q := range headWidth / quad {
			four := numbers[q*quad:][:quad]
			copy(column[q*panelWidth*quad:][:quad], four)
			sum += int32(four[0]) + int32(four[1]) + int32(four[2]) + int32(four[3])
		}
		a.keySum[i] = sum
		a.keyScale[i] = scale * power
		a.keyBias[i] = 0
	}
}

// takeValues lays out the values, which it finds in mixed, as rows of one scale, and returns it.
func (s *state) takeValues(start, n, padded, head int) (scale float32) {
	a := &s.attention
	d := s.weights.dimensions
	for i := range n {
		_, of := s.findHeadPart(start+i, 2, head)
		scale = max(scale, of)
	}
	a.valueSum = [panelWidth]int32{}
	clear(a.value[n/quad*quad*headWidth : padded*headWidth])
	for i := range n {
		value := s.mixed[(start+i)*d+head*headWidth:][:headWidth]
		s.toBytes(a.row[:], value, 1/scale, 128)
		columns := a.value[i/quad*quad*headWidth+i%quad:]
		for c, v := range a.row {
			number := int8(v ^ 128)
			columns[c*quad] = number
			a.valueSum[c] += int32(number)
		}
	}
	return scale
}
