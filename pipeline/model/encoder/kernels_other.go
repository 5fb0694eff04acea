//go:build !amd64

package encoder

// listKernels returns the kernels that this processor has.
func listKernels() []kernels { return []kernels{makeGenericKernels()} }
