package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unsafe"

	"satchel/pipeline/store/vector"
)

// Digest implements sharedState: it hashes the live items in order of id, as vector.Digester says.
func (s *vectorState) Digest(ctx context.Context) ([32]byte, error) {
	type item struct {
		id  string
		ord uint32
	}
	items := make([]item, 0, s.Docs)
	for ord := range uint32(s.IDs.Len()) {
		if s.loadProfile(ord) != vectorGone {
			items = append(items, item{s.IDs.ID(ord), ord})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.id, b.id) })
	facets := map[uint32][]byte{}
	h := vector.NewDigester()
	var chunks []chunk
	for i, it := range items {
		if err := ctx.Err(); i%1024 == 0 && err != nil {
			return [32]byte{}, fmt.Errorf("digest vectors: %w", err)
		}
		prof := s.loadProfile(it.ord)
		f, ok := facets[prof]
		if !ok {
			values := s.Facets.Facets(prof)
			var err error
			if f, err = vector.EncodeFacets(&values); err != nil {
				return [32]byte{}, err
			}
			facets[prof] = f
		}
		chunks = s.appendChunks(chunks[:0], it.ord)
		slices.SortStableFunc(chunks, func(a, b chunk) int { return cmp.Compare(a.axis, b.axis) })
		h.Item(it.id, s.items[it.ord/pageSize].positions[it.ord%pageSize].decodePosition(), f, len(chunks))
		for _, c := range chunks {
			h.Chunk(c.axis, c.start, c.end, c.row)
		}
	}
	return h.Sum(), nil
}

// asBytes is row seen as bytes.
func asBytes(row []int8) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(row))), len(row))
}
