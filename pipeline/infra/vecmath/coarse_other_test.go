//go:build !amd64

package vecmath

// coarseKernels are those that this processor has.
func coarseKernels() map[string]func(query []int8, rows []uint8, out []int32) {
	return map[string]func(query []int8, rows []uint8, out []int32){"best": scoreCoarseRows}
}
