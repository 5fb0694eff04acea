package encoder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// magic opens a file of weights. All numbers are little endian. The header goes on with the
// number of pieces, positions, dimensions, layers and inner dimensions (uint32 each), four
// zeros, and the SHA-256 of all that follows it:
//
//   - a row of int8 for each piece
//   - the int8 of each layer's matrices: to queries, keys and values; out of attention; to the
//     inner dimensions; back from them
//   - float32: a scale for each piece's row; a row for each position, which includes the only
//     segment's; the embedding's normalisation
//   - for each layer, the normalisation after attention, the one at its end, and for each matrix
//     in the same order the scales and the biases of its columns (float32) and the sums of their
//     weights (int32)
//
// A normalisation is what restores the rows before it, its gamma and its beta (float32).
// A matrix is kept in panels of 32 columns. A panel holds for each four rows the four weights
// of each column.
const magic = "ENCODER1"

const (
	number     = 4 // bytes of a float32, an int32 and a uint32
	digestSize = 32
	headerSize = len(magic) + 6*number + digestSize
	// maxDimension bounds what a header may say, so that sizes do not overflow.
	maxDimension = 1 << 16
)

// errFormat is the cause of every refused file.
var errFormat = errors.New("not weights of this version")

// matrix multiplies rows of depth numbers to rows of width numbers.
type matrix struct {
	depth, width int
	weights      []byte // int8, used where the file is
	scale, bias  []float32
	sums         []int32
}

// norm is the gamma and the beta of a normalisation. Dimensions are kept at sizes that are easy
// to quantise; restore undoes that where rows are added to others.
type norm struct{ restore, gamma, beta []float32 }

// layer is one of the encoder's layers.
type layer struct {
	attention, out, up, down matrix
	attended, done           norm
}

func (l *layer) listMatrices() [4]*matrix { return [4]*matrix{&l.attention, &l.out, &l.up, &l.down} }

// weights are the model. What is large is used where the file is.
type weights struct {
	pieces, positions, dimensions, inner int

	digest       string
	pieceRows    []byte // int8
	pieceScales  []byte // float32
	positionRows []byte // float32
	embedded     norm
	layers       []layer
}

// reader takes parts off the front of a file whose length is known to be right.
type reader struct{ data string }

// takeBytes returns the next n bytes in place. They MUST NOT be changed.
func (r *reader) takeBytes(n int) []byte {
	part := unsafe.Slice(unsafe.StringData(r.data), n)
	r.data = r.data[n:]
	return part
}

func (r *reader) readNumbers(n int) []uint32 {
	raw := r.takeBytes(n * number)
	list := make([]uint32, n)
	for i := range list {
		list[i] = binary.LittleEndian.Uint32(raw[i*number:])
	}
	return list
}

func (r *reader) readFloats(n int) []float32 {
	raw := r.takeBytes(n * number)
	list := make([]float32, n)
	for i := range list {
		list[i] = decodeFloat(raw, i)
	}
	return list
}

func (r *reader) readNorm(n int) norm {
	return norm{restore: r.readFloats(n), gamma: r.readFloats(n), beta: r.readFloats(n)}
}

// decodeFloat returns the i-th float32 of raw.
func decodeFloat(raw []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(raw[i*number:]))
}

// parseWeights reads a file for a vocabulary of so many pieces. The weights go on using data.
func parseWeights(data string, pieces int) (*weights, error) {
	if len(data) < headerSize || data[:len(magic)] != magic {
		return nil, fmt.Errorf("header: %w", errFormat)
	}
	r := &reader{data: data[len(magic):]}
	header := r.readNumbers(6)
	for _, n := range header[:5] {
		if n == 0 || n > maxDimension {
			return nil, fmt.Errorf("header with a size of %d: %w", n, errFormat)
		}
	}
	w := &weights{pieces: int(header[0]), positions: int(header[1]), dimensions: int(header[2]), inner: int(header[4])}
	if w.pieces != pieces {
		return nil, fmt.Errorf("%d rows for %d pieces: %w", w.pieces, pieces, errFormat)
	}
	if w.dimensions%panelWidth != 0 || w.inner%panelWidth != 0 {
		return nil, fmt.Errorf("%d dimensions, %d inner ones, want multiples of %d: %w",
			w.dimensions, w.inner, panelWidth, errFormat)
	}
	if want := w.computeFileSize(int64(header[3])); int64(len(data)) != want {
		return nil, fmt.Errorf("%d bytes instead of %d: %w", len(data), want, errFormat)
	}
	w.digest = string(r.takeBytes(digestSize))
	w.pieceRows = r.takeBytes(w.pieces * w.dimensions)
	w.layers = make([]layer, header[3])
	for i := range w.layers {
		l := &w.layers[i]
		l.attention = matrix{depth: w.dimensions, width: 3 * w.dimensions}
		l.out = matrix{depth: w.dimensions, width: w.dimensions}
		l.up = matrix{depth: w.dimensions, width: w.inner}
		l.down = matrix{depth: w.inner, width: w.dimensions}
		for _, m := range l.listMatrices() {
			m.weights = r.takeBytes(m.depth * m.width)
		}
	}
	w.pieceScales = r.takeBytes(w.pieces * number)
	w.positionRows = r.takeBytes(w.positions * w.dimensions * number)
	w.embedded = r.readNorm(w.dimensions)
	for i := range w.layers {
		l := &w.layers[i]
		l.attended, l.done = r.readNorm(w.dimensions), r.readNorm(w.dimensions)
		for _, m := range l.listMatrices() {
			m.scale, m.bias = r.readFloats(m.width), r.readFloats(m.width)
			m.sums = make([]int32, m.width)
			for c, n := range r.readNumbers(m.width) {
				m.sums[c] = int32(n)
			}
		}
	}
	return w, nil
}

// computeFileSize is the length of a file with so many layers.
func (w *weights) computeFileSize(layers int64) int64 {
	d := int64(w.dimensions)
	inner := int64(w.inner)
	norm := 3 * number * d
	matrices := 4*d*d + 2*d*inner + 3*number*(5*d+inner)
	return int64(headerSize) + int64(w.pieces)*(d+number) + int64(w.positions)*d*number + norm + layers*(matrices+2*norm)
}
