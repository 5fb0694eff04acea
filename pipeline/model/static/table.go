package static

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"satchel/pipeline/model/internal/wordpiece"
)

// magic opens a table file. It is followed by the number of rows and the number
// of dimensions (uint32), the rows (int8) and one scale per row (float16 between
// 0 and 1), all little endian.
const magic = "STATIC01"

const headerSize = len(magic) + 8

// maxScale is the largest scale in fixed point. A lane of an accumulator is 32
// bits: 256 pieces · 255 · 65535 just fits.
const maxScale = 65535

// errFormat is the cause of every refused table.
var errFormat = errors.New("not a table of this version")

// table is the rows and their scales. It is not changed after newTable.
type table struct {
	rows  []byte   // Dimensions int8 per row
	scale []uint16 // fixed point, maxScale is 1
}

func newTable(data []byte, pieces int) (*table, error) {
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("header: %w", errFormat)
	}
	rows := int(binary.LittleEndian.Uint32(data[len(magic):]))
	dimensions := int(binary.LittleEndian.Uint32(data[len(magic)+4:]))
	if rows != pieces || dimensions != Dimensions {
		return nil, fmt.Errorf("%d rows of %d for %d pieces: %w", rows, dimensions, pieces, errFormat)
	}
	if want := headerSize + rows*(Dimensions+2); len(data) != want {
		return nil, fmt.Errorf("%d bytes instead of %d: %w", len(data), want, errFormat)
	}
	t := &table{rows: data[headerSize : headerSize+rows*Dimensions], scale: make([]uint16, rows)}
	scales := data[headerSize+rows*Dimensions:]
	for i := range t.scale {
		s := decodeFloat16(binary.LittleEndian.Uint16(scales[2*i:]))
		if !(s >= 0 && s <= 1) {
			return nil, fmt.Errorf("scale of row %d is %v: %w", i, s, errFormat)
		}
		t.scale[i] = uint16(math.Round(s * maxScale))
	}
	return t, nil
}

// hashRevision is the start of the SHA-256 of both files and the tokenizer's rules, in hexadecimal.
func hashRevision(tableData []byte, vocabData string) string {
	h := sha256.New()
	h.Write(tableData)
	h.Write([]byte(vocabData))
	h.Write([]byte(wordpiece.Rules))
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// decodeFloat16 decodes an IEEE 754 half-precision number.
func decodeFloat16(bits uint16) float64 {
	sign := 1 - 2*float64(bits>>15)
	exponent := int(bits >> 10 & 31)
	fraction := float64(bits & 1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		return math.NaN()
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// accumulator is a weighted sum of rows. Each uint64 holds two 32-bit sums of
// numbers made positive by adding 128; word 4i+k holds dimensions 8i+k (low)
// and 8i+k+4 (high), so that eight int8 are added with four multiplications.
type accumulator struct {
	lanes  [Dimensions / 2]uint64
	weight int64 // sum of the scales
}

// addScaledRow adds a row times its scale. At most maxPieces rows may be added.
func (t *table) addScaledRow(sum *accumulator, piece uint16) {
	const (
		signs = 0x8080808080808080
		mask  = 0x000000ff000000ff
	)
	scale := uint64(t.scale[piece])
	row := (*[Dimensions]byte)(t.rows[int(piece)*Dimensions:])
	for i := 0; i < Dimensions/8; i++ {
		w := binary.LittleEndian.Uint64(row[8*i:8*i+8]) ^ signs
		lanes := (*[4]uint64)(sum.lanes[4*i : 4*i+4])
		lanes[0] += w & mask * scale
		lanes[1] += w >> 8 & mask * scale
		lanes[2] += w >> 16 & mask * scale
		lanes[3] += w >> 24 & mask * scale
	}
	sum.weight += int64(scale)
}

// writeUnitVector writes the sum scaled to length one, or zeros if it is zero.
func (a *accumulator) writeUnitVector(dst *[Dimensions]float32) {
	var values [Dimensions]float64
	var squares float64
	offset := 128 * a.weight
	for i, pair := range a.lanes {
		low := float64(int64(pair&math.MaxUint32) - offset)
		high := float64(int64(pair>>32) - offset)
		at := i/4*8 + i%4
		values[at] = low
		values[at+4] = high
		// The conversions keep the compiler from fusing the multiplication and
		// the addition, which would round differently on some machines.
		squares += float64(low*low) + float64(high*high)
	}
	if squares == 0 {
		clear(dst[:])
		return
	}
	factor := 1 / math.Sqrt(squares)
	for i, v := range values {
		dst[i] = float32(v * factor)
	}
}
