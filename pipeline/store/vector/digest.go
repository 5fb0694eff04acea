package vector

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"math"
	"unsafe"

	"satchel/pipeline/infra/vecmath"
	"satchel/schemas"
)

// Digester computes the digest of a tenant's items, the same in every driver: the SHA-256
// of the items in order of id. Each contributes its id, position (8 bytes), the JSON of
// its facets, and its chunks in order of axis and, within it, as they were put: axis,
// start and end of the span, the vector as 8-bit numbers (vecmath.Quantise, padded to
// vecmath.Lane). Strings, and how many of something there are, come with uvarints.
type Digester struct {
	sum hash.Hash
	buf []byte
}

// NewDigester returns a Digester that has seen no item.
func NewDigester() *Digester { return &Digester{sum: sha256.New()} }

// Item begins the next item.
func (d *Digester) Item(id string, position int64, facets []byte, chunks int) {
	d.flushBuffer()
	d.appendText(id)
	d.buf = binary.BigEndian.AppendUint64(d.buf, uint64(position))
	d.appendText(string(facets))
	d.buf = binary.AppendUvarint(d.buf, uint64(chunks))
}

// Chunk adds a chunk of the item.
func (d *Digester) Chunk(axis string, start, end uint32, row []int8) {
	d.appendText(axis)
	d.buf = binary.AppendUvarint(d.buf, uint64(start))
	d.buf = binary.AppendUvarint(d.buf, uint64(end))
	d.buf = append(d.buf, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(row))), len(row))...)
}

// Sum returns the digest of what was added.
func (d *Digester) Sum() [32]byte {
	d.flushBuffer()
	return [32]byte(d.sum.Sum(nil))
}

func (d *Digester) flushBuffer() {
	d.sum.Write(d.buf) // a hash returns no error
	d.buf = d.buf[:0]
}

func (d *Digester) appendText(s string) {
	d.buf = append(binary.AppendUvarint(d.buf, uint64(len(s))), s...)
}

// EncodeFacets returns facets as a digest takes them.
func EncodeFacets(f *schemas.Facets) ([]byte, error) {
	b, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("digest vectors: %w", err)
	}
	return b, nil
}

// Stride is how many 8-bit numbers a quantised vector of dims has.
func Stride(dims int) int { return (dims + vecmath.Lane - 1) / vecmath.Lane * vecmath.Lane }

// SpanOf returns a span's bounds as they are kept: from 0, the end not before the start.
func SpanOf(s schemas.Span) (start, end uint32) {
	from := min(max(s.Start, 0), math.MaxUint32)
	return uint32(from), uint32(min(max(s.End, from), math.MaxUint32))
}
