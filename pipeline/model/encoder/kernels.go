package encoder

import (
	"math"
	"slices"
)

const (
	// panelWidth is how many columns of a matrix are multiplied at once.
	panelWidth = 32
	// quad is how many numbers of a row of the left matrix are multiplied at once.
	quad = 4
	// lanes is how many partial sums a sum of floats has, so that every kernel rounds alike.
	lanes = 16
)

// kernels are the loops that take the time. All sets compute the same bits: integer sums are
// exact, float operations are rounded one by one and added up in the same order. Lengths are
// multiples of panelWidth.
type kernels struct {
	name string
	// product multiplies rows with 32 columns.
	product func(p *panel)
	// extent returns the least and the greatest number of x and 0.
	extent func(x []float32) (low, high float32)
	// toBytes sets dst[i] to x[i] times factor, rounded, plus zero, within 0 to 255.
	toBytes func(dst []uint8, x []float32, factor float32, zero int32)
	// groups writes each 32 numbers of x as -127 to 127 times a scale of their own.
	groups func(dst []int8, scales, x []float32)
	// normalise multiplies x with restore, adds y and brings the sum to mean 0 and variance 1,
	// times gamma plus beta.
	normalise func(x, y, restore, gamma, beta []float32)
	// gelu replaces each x by x times the normal distribution function of x.
	gelu func(x []float32)
	// softmax sets dst[i] to 255 times two to the power of scores[i] less the greatest score,
	// rounded, and returns their sum.
	softmax func(dst []uint8, scores []float32) (sum int32)
}

// panel is a product of rows with 32 columns of a matrix: out[r][c] is the sum over k of
// (a[r][k] - rowZero[r]) * weights[k][c], times rowScale[r] times scale[c], plus bias[c].
type panel struct {
	a         *uint8
	stride    int // bytes from row to row of a
	steps     int // pairs of quads in a row of a
	rows      int
	weights   *int8    // per quad the four numbers of each column
	sums      *int32   // per column the sum of its weights
	scale     *float32 // per column
	bias      *float32 // per column
	rowScale  *float32
	rowZero   *int32
	out       *float32
	outStride int // bytes from row to row of out
}

// A normal distribution function is .5 + t*P(t*t), where t is within geluClamp of 0. The
// coefficients are a minimax fit: no value of gelu is wrong by more than 0.0001.
const geluClamp = 4.5

func geluCoefficients() [9]float32 {
	return [9]float32{0.3987126052379608, -0.06598465889692307, 0.009585204534232616,
		-0.0010375918354839087, 8.142524166032672e-05, -4.451736003829865e-06,
		1.5910003980934562e-07, -3.3146694278229916e-09, 3.0364287473272356e-11}
}

// Two to the power of f, -.5 to .5, is 1 + f*Q(f), wrong by at most one part in 9,000. Scores
// that are more than powerClamp below the greatest count as powerClamp below it.
const powerClamp = 30

func powerCoefficients() [3]float32 {
	return [3]float32{0.693282961845398, 0.2422109693288803, 0.055008627474308014}
}

const (
	// epsilon is what normalise adds to a variance: BERT's.
	epsilon = 1e-12
	// leastGroup stands for the greatest number of a group of zeros.
	leastGroup = 1e-30
	// absent is the score of what is no piece of the text.
	absent = -1e30
)

func makeGenericKernels() kernels {
	return kernels{name: "generic", product: productGeneric, extent: extentGeneric, toBytes: toBytesGeneric,
		groups: groupsGeneric, normalise: normaliseGeneric, gelu: geluGeneric, softmax: softmaxGeneric}
}

func roundToEven(x float32) float32 { return float32(math.RoundToEven(float64(x))) }

// sumLanes adds up partial sums in the order of the vector kernels.
func sumLanes(sums *[lanes]float32) float32 {
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			sums[i] += sums[i+half]
		}
	}
	return sums[0]
}

func extentGeneric(x []float32) (low, high float32) {
	for _, v := range x {
		low = min(low, v)
		high = max(high, v)
	}
	return low, high
}

func toBytesGeneric(dst []uint8, x []float32, factor float32, zero int32) {
	for i, v := range x {
		dst[i] = uint8(min(max(int32(roundToEven(v*factor))+zero, 0), 255))
	}
}

func groupsGeneric(dst []int8, scales, x []float32) {
	for g := range scales {
		group := x[g*panelWidth : (g+1)*panelWidth]
		greatest := float32(leastGroup)
		for _, v := range group {
			greatest = max(greatest, v, -v)
		}
		scales[g] = greatest / 127
		factor := 127 / greatest
		for i, v := range group {
			dst[g*panelWidth+i] = int8(roundToEven(v * factor))
		}
	}
}

// normaliseGeneric converts each product to float32, so that no machine fuses it with a sum.
func normaliseGeneric(x, y, restore, gamma, beta []float32) {
	var sums, squares [lanes]float32
	for i, v := range y {
		x[i] = float32(x[i]*restore[i]) + v
		sums[i%lanes] += x[i]
	}
	n := float32(len(x))
	mean := sumLanes(&sums) / n
	for i := range x {
		x[i] -= mean
		squares[i%lanes] += float32(x[i] * x[i])
	}
	variance := sumLanes(&squares)/n + epsilon
	factor := 1 / float32(math.Sqrt(float64(variance)))
	for i, v := range x {
		x[i] = float32(float32(v*factor)*gamma[i]) + beta[i]
	}
}

func geluGeneric(x []float32) {
	p := geluCoefficients()
	for i, v := range x {
		t := min(max(v, -geluClamp), geluClamp)
		square := t * t
		sum := p[len(p)-1]
		for c := len(p) - 2; c >= 0; c-- {
			sum = float32(sum*square) + p[c]
		}
		x[i] = v * (float32(sum*t) + .5)
	}
}

func softmaxGeneric(dst []uint8, scores []float32) (sum int32) {
	greatest := slices.Max(scores)
	q := powerCoefficients()
	for i, s := range scores {
		exponent := max(s-greatest, -powerClamp)
		whole := roundToEven(exponent)
		f := exponent - whole
		power := q[2]
		power = float32(power*f) + q[1]
		power = float32(power*f) + q[0]
		power = float32(power*f) + 1
		power = math.Float32frombits(math.Float32bits(power) + uint32(int32(whole))<<23)
		dst[i] = uint8(roundToEven(power * 255))
		sum += int32(dst[i])
	}
	return sum
}
