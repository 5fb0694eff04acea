package inproc

import "golang.org/x/sys/cpu"

// dotAVX2 is dotGeneric for n rows; n MUST be a multiple of 4 and dims one of lane.
//
//go:noescape
func dotAVX2(query *int16, rows *int8, dims, n int, out *int32)

// dot is dotGeneric, four rows at a time where the processor can.
func dot(query []int16, rows []int8, out []int32) {
	n := len(out) &^ 3
	if !cpu.X86.HasAVX2 || n == 0 || len(query)%lane != 0 || len(query) == 0 {
		dotGeneric(query, rows, out)
		return
	}
	_ = rows[:len(out)*len(query)] // the kernel does not look at bounds
	dotAVX2(&query[0], &rows[0], len(query), n, &out[0])
	dotGeneric(query, rows[n*len(query):], out[n:])
}
