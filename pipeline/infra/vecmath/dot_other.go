//go:build !amd64

package vecmath

// Rows sets out[i] to the dot product of query and row i of rows, for every i: dotGeneric.
func Rows(query []int16, rows []int8, out []int32) { dotGeneric(query, rows, out) }

// Fetch does nothing here: see dot_amd64.go.
func Fetch([]int8) {}

func scoreCoarseRows(query []int8, rows []uint8, out []int32) { coarseGeneric(query, rows, out) }
