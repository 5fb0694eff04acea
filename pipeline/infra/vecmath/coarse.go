package vecmath

import "math"

// CoarseLane is how many numbers of a row 64 bytes of its coarse form hold.
const CoarseLane = 128

// CoarseLen is the length in bytes of the coarse form of a row of dims numbers.
func CoarseLen(dims int) int { return (dims + CoarseLane - 1) / CoarseLane * (CoarseLane / 2) }

// A number x of a row is kept coarsely as its upper half u, 4 bits of 0 to 15, and stands
// for the middle of what has that half.
const (
	coarseStep   = 16
	coarseMiddle = 120 // x is about coarseStep*u - coarseMiddle
)

// Coarsen writes the coarse form of row to dst, of CoarseLen bytes, and returns the squared
// length of what is lost over that of row, 0 for a zero row. Byte i of the n-th 64 bytes holds
// the numbers 128n+i, in its lower half, and 128n+64+i.
func Coarsen(dst []uint8, row []int8) (lost float64) {
	clear(dst)
	var length, noise int
	for i, x := range row {
		u := uint8(int(x)+128) / coarseStep
		at := i/CoarseLane*(CoarseLane/2) + i%(CoarseLane/2)
		shift := i % CoarseLane / (CoarseLane / 2) * 4
		dst[at] |= u << shift
		off := int(x) - coarseStep*int(u) + coarseMiddle
		noise += off * off
		length += int(x) * int(x)
	}
	if length == 0 {
		return 0
	}
	return float64(noise) / float64(length)
}

// CoarseQuery is a query to be compared with coarse rows. The zero value is that of the
// zero vector.
type CoarseQuery struct {
	numbers []int8 // padded
	dims    int
	offset  int32   // what every sum has too much
	scale   float64 // one over the length of numbers
	lost    float64 // the squared length of what 8 bits lose of the query, over that of the query
}

// Coarse returns a query of QuantiseQuery in 8 bits.
func Coarse(query []int16) CoarseQuery {
	greatest := 0
	for _, x := range query {
		greatest = max(greatest, int(x), -int(x))
	}
	if greatest == 0 {
		return CoarseQuery{}
	}
	q := CoarseQuery{numbers: make([]int8, 2*CoarseLen(len(query))), dims: len(query)}
	factor := 127 / float64(greatest)
	var sum int32
	var length, noise, whole float64
	for i, x := range query {
		exact := float64(float64(x) * factor)
		n := math.RoundToEven(exact)
		q.numbers[i] = int8(n)
		sum += int32(n)
		length += float64(n * n)
		noise += float64((n - exact) * (n - exact))
		whole += float64(exact * exact)
	}
	q.offset, q.scale, q.lost = coarseMiddle*sum, 1/math.Sqrt(length), noise/whole
	return q
}

// Rows sets out[i] to the dot product of the query and coarse row i of rows: times Scale and
// the scale of the row it is about their cosine.
func (q *CoarseQuery) Rows(rows []uint8, out []int32) {
	if len(q.numbers) == 0 {
		clear(out)
		return
	}
	scoreCoarseRows(q.numbers, rows, out)
	for i, sum := range out {
		out[i] = coarseStep*sum - q.offset
	}
}

// Scale is one over the length of the query, 0 for the zero vector.
func (q *CoarseQuery) Scale() float64 { return q.scale }

// Error is about how far a cosine of coarse rows is from that of the whole ones: its standard
// deviation, where lost is the mean of what Coarsen returned. Where a few numbers of a vector
// outweigh all others it may be half as much again.
func (q *CoarseQuery) Error(lost float64) float64 {
	return math.Sqrt((lost + q.lost) / float64(max(1, q.dims)))
}

// coarseGeneric sets out[i] to the sum of the query's numbers times the upper halves of
// coarse row i.
func coarseGeneric(query []int8, rows []uint8, out []int32) {
	n := len(query) / 2
	for i := range out {
		row := rows[i*n : i*n+n : i*n+n]
		var sum int32
		for j, b := range row {
			at := j/(CoarseLane/2)*CoarseLane + j%(CoarseLane/2)
			sum += int32(query[at])*int32(b&15) + int32(query[at+CoarseLane/2])*int32(b>>4)
		}
		out[i] = sum
	}
}
