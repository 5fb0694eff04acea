//go:build !amd64

package encoder

// available returns the kernels that this processor has.
func available() []kernels { return []kernels{generic()} }
