package inproc

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"unsafe"
)

// digest hashes the live items in order of id. Each contributes its id, position (8
// bytes), the JSON of its facets, and its chunks in order of axis and, within it, as they
// were put: axis, start and end of the span, the 8-bit numbers. Strings and numbers of
// things carry or are uvarints.
func (s *state) digest(ctx context.Context) ([32]byte, error) {
	type item struct {
		id  string
		ord uint32
	}
	items := make([]item, 0, s.docs)
	for ord := range uint32(s.ids.Len()) {
		if s.profile(ord) != gone {
			items = append(items, item{s.ids.ID(ord), ord})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.id, b.id) })
	facets := map[uint32][]byte{}
	h := sha256.New()
	var buf []byte
	var chunks []chunk
	for i, it := range items {
		if err := ctx.Err(); i%1024 == 0 && err != nil {
			return [32]byte{}, fmt.Errorf("digest vectors: %w", err)
		}
		prof := s.profile(it.ord)
		f, ok := facets[prof]
		if !ok {
			var err error
			if f, err = json.Marshal(s.facets.Facets(prof)); err != nil {
				return [32]byte{}, fmt.Errorf("digest vectors: %w", err)
			}
			facets[prof] = f
		}
		buf = appendString(buf[:0], it.id)
		buf = binary.BigEndian.AppendUint64(buf, uint64(s.items[it.ord/pageSize].positions[it.ord%pageSize].int64()))
		buf = appendString(buf, string(f))
		chunks = s.chunks(chunks[:0], it.ord)
		slices.SortStableFunc(chunks, func(a, b chunk) int { return cmp.Compare(a.axis, b.axis) })
		buf = binary.AppendUvarint(buf, uint64(len(chunks)))
		for _, c := range chunks {
			buf = appendString(buf, c.axis)
			buf = binary.AppendUvarint(buf, uint64(c.start))
			buf = binary.AppendUvarint(buf, uint64(c.end))
			buf = append(buf, asBytes(c.row)...)
		}
		if _, err := h.Write(buf); err != nil {
			return [32]byte{}, fmt.Errorf("digest vectors: %w", err)
		}
	}
	return [32]byte(h.Sum(nil)), nil
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// asBytes is row seen as bytes.
func asBytes(row []int8) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(row))), len(row))
}
