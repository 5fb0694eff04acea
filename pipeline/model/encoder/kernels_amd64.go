package encoder

import "golang.org/x/sys/cpu"

//go:noescape
func productVNNI(p *panel)

//go:noescape
func productAVX2(p *panel)

//go:noescape
func extentAVX2(x []float32) (low, high float32)

//go:noescape
func toBytesAVX2(dst []uint8, x []float32, factor float32, zero int32)

//go:noescape
func groupsAVX2(dst []int8, scales, x []float32)

//go:noescape
func normaliseAVX2(x, y, restore, gamma, beta []float32)

//go:noescape
func geluAVX2(x []float32)

//go:noescape
func softmaxAVX2(dst []uint8, scores []float32) (sum int32)

// listKernels returns the kernels that this processor has, the best first.
func listKernels() []kernels {
	list := []kernels{makeGenericKernels()}
	if !cpu.X86.HasAVX2 {
		return list
	}
	k := kernels{name: "AVX2", product: productAVX2, extent: extentAVX2, toBytes: toBytesAVX2, groups: groupsAVX2,
		normalise: normaliseAVX2, gelu: geluAVX2, softmax: softmaxAVX2}
	list = append([]kernels{k}, list...)
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI {
		k.name = "AVX-512 VNNI"
		k.product = productVNNI
		list = append([]kernels{k}, list...)
	}
	return list
}
