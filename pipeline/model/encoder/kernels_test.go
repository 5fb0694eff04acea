package encoder

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// random draws numbers of very different sizes.
func random(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	size := math.Exp(4 * rng.NormFloat64())
	for i := range x {
		x[i] = float32(rng.NormFloat64() * size)
		if rng.IntN(20) == 0 {
			x[i] *= 30
		}
	}
	return x
}

// same reports whether two slices hold the same bits, where 0 is -0.
func same(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return x == y || x != x && y != y })
}

// everyKernel runs check on random numbers for each set of kernels beside the generic one.
func everyKernel(t *testing.T, check func(t *rapid.T, rng *rand.Rand, k kernels, n int)) {
	t.Parallel()
	for _, k := range listKernels() {
		if k.name == "generic" {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				n := panelWidth * rapid.IntRange(1, 50).Draw(t, "panels")
				check(t, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), k, n)
			})
		})
	}
}

func TestExtentIsTheGenericOne(t *testing.T) {
	everyKernel(t, func(t *rapid.T, rng *rand.Rand, k kernels, n int) {
		x := random(rng, n)
		if rng.IntN(4) == 0 {
			for i := range x {
				x[i] = float32(math.Abs(float64(x[i])))
			}
		}
		wantLow, wantHigh := extentGeneric(x)
		if low, high := k.extent(x); low != wantLow || high != wantHigh {
			t.Fatalf("extent %v %v, want %v %v", low, high, wantLow, wantHigh)
		}
	})
}

func TestToBytesIsTheGenericOne(t *testing.T) {
	everyKernel(t, func(t *rapid.T, rng *rand.Rand, k kernels, n int) {
		x := random(rng, n)
		low, high := extentGeneric(x)
		factor := 255 / (high - low)
		zero := int32(roundToEven(-low * factor))
		got, want := make([]uint8, n), make([]uint8, n)
		toBytesGeneric(want, x, factor, zero)
		if k.toBytes(got, x, factor, zero); !slices.Equal(got, want) {
			t.Fatalf("bytes %v, want %v", got, want)
		}
		if !slices.Contains(want, 255) || !slices.Contains(want, 0) {
			t.Fatal("the bytes do not span 0 to 255")
		}
	})
}

func TestGroupsAreTheGenericOnes(t *testing.T) {
	everyKernel(t, func(t *rapid.T, rng *rand.Rand, k kernels, n int) {
		x := random(rng, n)
		clear(x[:panelWidth])
		got, want := make([]int8, n), make([]int8, n)
		gotScales, wantScales := make([]float32, n/panelWidth), make([]float32, n/panelWidth)
		groupsGeneric(want, wantScales, x)
		k.groups(got, gotScales, x)
		if !slices.Equal(got, want) || !same(gotScales, wantScales) {
			t.Fatalf("groups %v of scales %v, want %v of %v", got, gotScales, want, wantScales)
		}
		for i, v := range want {
			scale := wantScales[i/panelWidth]
			if off := math.Abs(float64(float32(v)*scale - x[i])); off > .501*float64(scale) {
				t.Fatalf("number %d, %v, became %d times %v", i, x[i], v, scale)
			}
		}
	})
}

func TestNormaliseIsTheGenericOne(t *testing.T) {
	everyKernel(t, func(t *rapid.T, rng *rand.Rand, k kernels, n int) {
		x, y, restore, gamma, beta := random(rng, n), random(rng, n), random(rng, n), random(rng, n), random(rng, n)
		got := slices.Clone(x)
		normaliseGeneric(x, y, restore, gamma, beta)
		if k.normalise(got, y, restore, gamma, beta); !same(got, x) {
			t.Fatalf("normalised %v, want %v", got, x)
		}
	})
}

func TestGELUIsTheGenericOne(t *testing.T) {
	everyKernel(t, func(t *rapid.T, rng *rand.Rand, k kernels, n int) {
		x := random(rng, n)
		got := slices.Clone(x)
		geluGeneric(x)
		if k.gelu(got); !same(got, x) {
			t.Fatalf("gelu %v, want %v", got, x)
		}
	})
}

func TestSoftmaxIsTheGenericOne(t *testing.T) {
	everyKernel(t, func(t *rapid.T, rng *rand.Rand, k kernels, n int) {
		scores := random(rng, n)
		for i := range scores {
			if rng.IntN(8) == 0 {
				scores[i] = absent
			}
		}
		got, want := make([]uint8, n), make([]uint8, n)
		wantSum := softmaxGeneric(want, scores)
		if sum := k.softmax(got, scores); sum != wantSum || !slices.Equal(got, want) {
			t.Fatalf("softmax %v, sum %v, want %v, sum %v", got, sum, want, wantSum)
		}
	})
}

func TestProductIsTheGenericOne(t *testing.T) {
	everyKernel(t, func(t *rapid.T, rng *rand.Rand, k kernels, n int) {
		rows, depth := rapid.IntRange(1, 40).Draw(t, "rows"), 2*quad*(n/panelWidth)
		stride := depth + 4*rng.IntN(3)
		a, weights, sums := make([]uint8, rows*stride), make([]int8, depth*panelWidth), make([]int32, panelWidth)
		extreme := rng.IntN(2) == 0
		for i := range a {
			if a[i] = uint8(rng.IntN(256)); extreme {
				a[i] = uint8(255 * rng.IntN(2))
			}
		}
		for i := range weights {
			if weights[i] = int8(rng.IntN(255) - 127); extreme {
				weights[i] = int8(127 * (2*rng.IntN(2) - 1))
			}
			sums[i/quad%panelWidth] += int32(weights[i])
		}
		scale, bias, rowScale, zeros := random(rng, panelWidth), random(rng, panelWidth), random(rng, rows), make([]int32, rows)
		for i := range zeros {
			zeros[i] = int32(rng.IntN(256))
		}
		width := panelWidth + rng.IntN(40)
		run := func(product func(*panel)) []float32 {
			out := make([]float32, rows*width)
			product(&panel{a: &a[0], stride: stride, steps: depth / (2 * quad), rows: rows, weights: &weights[0], sums: &sums[0],
				scale: &scale[0], bias: &bias[0], rowScale: &rowScale[0], rowZero: &zeros[0],
				out: &out[0], outStride: width * int(unsafe.Sizeof(out[0]))})
			return out
		}
		want := run(productGeneric)
		if got := run(k.product); !same(got, want) {
			t.Fatalf("product %v, want %v", got, want)
		}
		checkProduct(t, want, a, weights, scale, bias, rowScale, zeros, stride, width)
	})
}

// checkProduct compares one number of each row with plain arithmetic.
func checkProduct(t *rapid.T, out []float32, a []uint8, weights []int8, scale, bias, rowScale []float32,
	zeros []int32, stride, width int) {
	for r, zero := range zeros {
		c := r % panelWidth
		var sum int
		for k := range len(weights) / panelWidth {
			sum += (int(a[r*stride+k]) - int(zero)) * int(weights[k/quad*quad*panelWidth+c*quad+k%quad])
		}
		want := float64(sum)*float64(rowScale[r])*float64(scale[c]) + float64(bias[c])
		size := math.Abs(want) + math.Abs(float64(bias[c]))
		if got := float64(out[r*width+c]); math.Abs(got-want) > 1e-5*size {
			t.Fatalf("row %d, column %d: %v, want %v", r, c, got, want)
		}
	}
}

func TestGELUIsNearTheExactOne(t *testing.T) {
	t.Parallel()
	x := make([]float32, 0, 40_000)
	for i := range cap(x) {
		x = append(x, float32(i-20_000)/1000)
	}
	got := slices.Clone(x)
	geluGeneric(got)
	for i, v := range x {
		want := float64(v) * .5 * (1 + math.Erf(float64(v)/math.Sqrt2))
		if off := math.Abs(float64(got[i]) - want); off > 1e-4 {
			t.Fatalf("gelu(%v) = %v, want %v", v, got[i], want)
		}
	}
}

func TestSoftmaxIsNearTheExactOne(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	scores, got := make([]float32, 256), make([]uint8, 256)
	for i := range scores {
		scores[i] = float32(4 * rng.NormFloat64())
	}
	sum := softmaxGeneric(got, scores)
	greatest := float64(slices.Max(scores))
	for i, s := range scores {
		power := 255 * math.Exp2(float64(s)-greatest)
		if off := math.Abs(float64(got[i]) - power); off > .53 {
			t.Errorf("power %d is %d, want %v", i, got[i], power)
		}
		sum -= int32(got[i])
	}
	if sum != 0 {
		t.Errorf("the sum is wrong by %d", sum)
	}
}
