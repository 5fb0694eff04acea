package memory

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"

	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/store/internal/columns"
)

// decodeVectorState reads a snapshot of size bytes, without its sum. What is not as encode writes it
// is ErrDamaged; a snapshot of another model or dimension is
// ErrForeign.
func (c *VectorConfig) decodeVectorState(from io.Reader, size int64, tenant string) (*vectorState, error) {
	r := &reader{r: bufio.NewReaderSize(from, 1<<18), left: size}
	if string(r.readBytes(len(vectorMagic))) != vectorMagic || string(r.readString()) != tenant {
		return nil, ErrDamaged
	}
	model := string(r.readString())
	if dims := r.readUvarint(); r.bad || model != c.Model || dims != uint64(c.Dimensions) {
		return nil, orDamaged(r.bad, ErrForeign)
	}
	s := newVectorState(c.Dimensions)
	s.Checkpoint = r.readPosition()
	for range r.readCount() {
		if name := string(r.readString()); !r.bad {
			s.axes = append(s.axes, axis{name: name})
		}
	}
	encoded := columns.NewCursor(string(r.readString()))
	dict, err := columns.DecodeDict(encoded)
	if r.bad || err != nil || !encoded.Done() {
		return nil, ErrDamaged
	}
	s.Facets = dict
	for range r.readCount() {
		if err := s.decodeItem(r, c.Dimensions); err != nil {
			return nil, err
		}
	}
	if r.bad || r.left != 0 {
		return nil, ErrDamaged
	}
	return s, nil
}

func orDamaged(bad bool, err error) error {
	if bad {
		return ErrDamaged
	}
	return err
}

func (s *vectorState) decodeItem(r *reader, dims int) error {
	id := string(r.readString())
	at := r.readPosition()
	prof := r.readUvarint()
	n := r.readCount()
	if r.bad || prof >= uint64(s.Facets.Len()) {
		return ErrDamaged
	}
	if _, there := s.IDs.Lookup(id); there {
		return ErrDamaged
	}
	chunks := r.chunks[:0]
	rows := r.rows[:0]
	for range n {
		name := r.readUvarint()
		start := r.readUvarint()
		length := r.readUvarint()
		raw := r.readBytes(dims)
		if r.bad || bytes.IndexByte(raw, 0x80) >= 0 || name >= uint64(len(s.axes)) || start > math.MaxUint32 || length > math.MaxUint32-start {
			return ErrDamaged
		}
		at := len(rows)
		rows = append(rows, make([]int8, s.stride)...)
		c := chunk{axis: s.axes[name].name, start: uint32(start), end: uint32(start + length), row: rows[at : at+s.stride : at+s.stride]}
		copy(asBytes(c.row), raw)
		c.scale = vecmath.RowScale(c.row)
		chunks = append(chunks, c)
	}
	r.chunks = chunks
	r.rows = rows
	if err := s.addItemChunks(id, at, uint32(prof), chunks); err != nil {
		return ErrDamaged
	}
	return nil
}

// reader takes values from r; bad is set once something does not fit. It never takes
// more than is left.
type reader struct {
	r    *bufio.Reader
	left int64
	bad  bool

	buf    []byte // scratch of take
	chunks []chunk
	rows   []int8
}

// readBytes returns the next n bytes, until the next call.
func (r *reader) readBytes(n int) []byte {
	if r.bad || n < 0 || int64(n) > r.left {
		r.bad = true
		return nil
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.buf = r.buf[:n]
	if _, err := io.ReadFull(r.r, r.buf); err != nil {
		r.bad = true
		return nil
	}
	r.left -= int64(n)
	return r.buf
}

// ReadByte lets binary.ReadUvarint count what it reads.
func (r *reader) ReadByte() (byte, error) {
	if r.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	b, err := r.r.ReadByte()
	if err == nil {
		r.left--
	}
	return b, err
}

func (r *reader) readUvarint() uint64 {
	if r.bad {
		return 0
	}
	v, err := binary.ReadUvarint(r)
	if err != nil {
		r.bad = true
		return 0
	}
	return v
}

// readCount reads how many elements follow; each takes a byte at least.
func (r *reader) readCount() int {
	v := r.readUvarint()
	if v > uint64(max(r.left, 0)) {
		r.bad = true
		return 0
	}
	return int(v)
}

func (r *reader) readPosition() int64 {
	v := r.readUvarint()
	if v > math.MaxInt64 {
		r.bad = true
		return 0
	}
	return int64(v)
}

func (r *reader) readString() []byte { return r.readBytes(r.readCount()) }
