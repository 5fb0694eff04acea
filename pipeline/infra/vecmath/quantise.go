package vecmath

import "math"

// Quantise writes v to row as numbers of -127 to 127, zero beyond len(v), and returns
// one over the length of what it wrote: the dot product of two rows times both their
// scales is their cosine. The zero vector has scale 0.
func Quantise(row []int8, v []float32) float32 {
	clear(row)
	greatest := float32(0)
	for _, x := range v {
		greatest = max(greatest, max(x, -x))
	}
	if greatest == 0 {
		return 0
	}
	factor := 127 / float64(greatest)
	for i, x := range v {
		row[i] = int8(math.RoundToEven(float64(float64(x) * factor)))
	}
	return RowScale(row)
}

// RowScale returns one over the length of row, 0 for a zero row.
func RowScale(row []int8) float32 {
	sum := 0
	for _, x := range row {
		sum += int(x) * int(x)
	}
	if sum == 0 {
		return 0
	}
	return float32(1 / math.Sqrt(float64(sum)))
}

// queryMax is the greatest number of a query, so that no dot product with a row of dims
// numbers overflows 32 bits.
func queryMax(dims int) int16 {
	return int16(max(1, min(8191, math.MaxInt32/(127*max(1, dims)))))
}

// QuantiseQuery returns v in dims numbers of up to queryMax, and their scale. A query is
// kept finer than the rows: that costs nothing and halves the error.
func QuantiseQuery(v []float32, dims int) (query []int16, scale float64) {
	query = make([]int16, dims)
	greatest := float32(0)
	for _, x := range v {
		greatest = max(greatest, max(x, -x))
	}
	if greatest == 0 {
		return query, 0
	}
	factor := float64(queryMax(dims)) / float64(greatest)
	sum := 0.0
	for i, x := range v {
		n := math.RoundToEven(float64(float64(x) * factor))
		query[i] = int16(n)
		sum += float64(n * n)
	}
	return query, 1 / math.Sqrt(sum)
}
