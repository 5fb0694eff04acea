package encoderref

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// File returns the model in the format of pipeline/model/encoder/weights.go: rows of the
// vocabulary and columns of the matrices as int8 of -127 to 127 and a scale of their own.
func (m *Model) File() []byte {
	d := m.Dimensions
	var whole, floats []byte // the int8 come first
	rows := &Matrix{Depth: d, Weights: m.PieceRows}
	whole, scales := rows.quantise(whole, 1, d)
	floats = appendFloats(floats, scales, m.PositionRows, m.Embedded.Restore, m.Embedded.Gamma, m.Embedded.Beta)
	for i := range m.Layers {
		l := &m.Layers[i]
		floats = appendFloats(floats, l.Attended.Restore, l.Attended.Gamma, l.Attended.Beta, l.Done.Restore, l.Done.Gamma, l.Done.Beta)
		for _, matrix := range []*Matrix{&l.Attention, &l.Out, &l.Up, &l.Down} {
			from := len(whole)
			whole, scales = matrix.quantise(whole, panelWidth, quad)
			floats = appendFloats(floats, scales, matrix.Bias)
			floats = appendSums(floats, whole[from:], matrix.Depth)
		}
	}
	body := append(whole, floats...)
	digest := sha256.Sum256(body)
	file := []byte("ENCODER1")
	pieces, positions := len(m.PieceRows)/d, len(m.PositionRows)/d
	for _, n := range []int{pieces, positions, d, len(m.Layers), len(m.Layers[0].Up.Bias), 0} {
		file = binary.LittleEndian.AppendUint32(file, uint32(n))
	}
	return append(append(file, digest[:]...), body...)
}

const (
	panelWidth = 32
	quad       = 4
)

// quantise appends the matrix in panels of so many columns, of so many of their numbers at a
// time, and returns the scales of the columns.
func (m *Matrix) quantise(dst []byte, columns, numbers int) ([]byte, []float32) {
	width := len(m.Weights) / m.Depth
	scales := make([]float32, width)
	for c := range scales {
		for _, v := range m.Weights[c*m.Depth : (c+1)*m.Depth] {
			scales[c] = max(scales[c], v/127, -v/127)
		}
		if scales[c] == 0 {
			scales[c] = 1
		}
	}
	for first := 0; first < width; first += columns {
		for k := 0; k < m.Depth; k += numbers {
			for c := first; c < first+columns; c++ {
				for _, v := range m.Weights[c*m.Depth+k : c*m.Depth+k+numbers] {
					dst = append(dst, byte(int8(math.RoundToEven(float64(v/scales[c])))))
				}
			}
		}
	}
	return dst, scales
}

// appendSums appends the sums of the columns of a matrix that is laid out in panels.
func appendSums(dst, weights []byte, depth int) []byte {
	sums := make([]int32, len(weights)/depth)
	for i, w := range weights {
		sums[i/(panelWidth*depth)*panelWidth+i/quad%panelWidth] += int32(int8(w))
	}
	for _, n := range sums {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	return dst
}

func appendFloats(dst []byte, lists ...[]float32) []byte {
	for _, list := range lists {
		for _, v := range list {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		}
	}
	return dst
}
