// Package vecmath computes dot products of quantised vectors: rows of 8 bits, a query of
// up to 14. The kernels (AVX2, AVX-512 VNNI) and the generic one give the same integers, so
// a score does not depend on the machine.
package vecmath

// Lane is what the kernel works on at once; rows are padded to a multiple of it.
const Lane = 16

// dotGeneric sets out[i] to the dot product of query and row i of rows, for every i. A
// row is len(query) numbers. The sums are exact: see queryMax.
func dotGeneric(query []int16, rows []int8, out []int32) {
	n := len(query)
	for i := range out {
		row := rows[i*n : i*n+n : i*n+n]
		var sum int32
		for j, q := range query {
			sum += int32(q) * int32(row[j])
		}
		out[i] = sum
	}
}
