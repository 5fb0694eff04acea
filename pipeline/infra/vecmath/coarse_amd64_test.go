package vecmath

import "golang.org/x/sys/cpu"

// coarseKernels are those that this processor has.
func coarseKernels() map[string]func(query []int8, rows []uint8, out []int32) {
	kernels := map[string]func(query []int8, rows []uint8, out []int32){"best": scoreCoarseRows}
	add := func(name string, has bool, kernel func(query *int8, rows *uint8, lanes, n int, out *int32)) {
		if !has {
			return
		}
		kernels[name] = func(query []int8, rows []uint8, out []int32) {
			if len(out) > 0 {
				kernel(&query[0], &rows[0], len(query)/CoarseLane, len(out), &out[0])
			}
		}
	}
	add("AVX2", cpu.X86.HasAVX2, coarseAVX2)
	add("VNNI", hasVNNI(), coarseVNNI)
	return kernels
}
