package dot

import "golang.org/x/sys/cpu"

// dotAVX2 is dotGeneric for n rows; n MUST be a multiple of 4 and dims one of Lane.
//
//go:noescape
func dotAVX2(query *int16, rows *int8, dims, n int, out *int32)

// dotVNNI is dotAVX2 for dims that are a multiple of two Lanes.
//
//go:noescape
func dotVNNI(query *int16, rows *int8, dims, n int, out *int32)

// Rows sets out[i] to the dot product of query and row i of rows, for every i. A row is
// len(query) numbers; Lane-sized rows go four at a time where the processor can.
func Rows(query []int16, rows []int8, out []int32) {
	n := len(out) &^ 3
	if !cpu.X86.HasAVX2 || n == 0 || len(query)%Lane != 0 || len(query) == 0 {
		dotGeneric(query, rows, out)
		return
	}
	_ = rows[:len(out)*len(query)] // the kernels do not look at bounds
	if hasVNNI() && len(query)%(2*Lane) == 0 {
		dotVNNI(&query[0], &rows[0], len(query), n, &out[0])
	} else {
		dotAVX2(&query[0], &rows[0], len(query), n, &out[0])
	}
	dotGeneric(query, rows[n*len(query):], out[n:])
}

func hasVNNI() bool { return cpu.X86.HasAVX512VNNI && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512F }
