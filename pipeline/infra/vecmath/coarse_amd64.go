package vecmath

import "golang.org/x/sys/cpu"

// coarseAVX2 is coarseGeneric for n rows of lanes times CoarseLane numbers.
//
//go:noescape
func coarseAVX2(query *int8, rows *uint8, lanes, n int, out *int32)

// coarseVNNI is coarseAVX2.
//
//go:noescape
func coarseVNNI(query *int8, rows *uint8, lanes, n int, out *int32)

func scoreCoarseRows(query []int8, rows []uint8, out []int32) {
	n := len(out)
	if !cpu.X86.HasAVX2 || n == 0 {
		coarseGeneric(query, rows, out)
		return
	}
	_ = rows[:n*len(query)/2] // the kernels do not look at bounds
	if hasVNNI() {
		coarseVNNI(&query[0], &rows[0], len(query)/CoarseLane, n, &out[0])
	} else {
		coarseAVX2(&query[0], &rows[0], len(query)/CoarseLane, n, &out[0])
	}
}
