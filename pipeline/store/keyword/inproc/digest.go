package inproc

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
)

// digest hashes the live documents in order of id. Each contributes its id, position
// (8 bytes), the JSON of its facets, its length and, in order of term, every term with
// its frequency; strings carry their length, numbers are uvarints.
func (s *state) digest(ctx context.Context) ([32]byte, error) {
	type doc struct {
		id string
		n  uint32
	}
	docs := make([]doc, 0, s.docs)
	for n, prof := range s.profiles {
		if prof != gone {
			docs = append(docs, doc{s.ids.ID(uint32(n)), uint32(n)})
		}
	}
	slices.SortFunc(docs, func(a, b doc) int { return cmp.Compare(a.id, b.id) })
	rank, facets := s.ranks(), map[uint32][]byte{}
	h := sha256.New()
	var buf []byte
	var counts []count
	for i, d := range docs {
		if err := ctx.Err(); i%1024 == 0 && err != nil {
			return [32]byte{}, fmt.Errorf("digest keywords: %w", err)
		}
		prof := s.profiles[d.n]
		f, ok := facets[prof]
		if !ok {
			var err error
			if f, err = json.Marshal(s.facets.Facets(prof)); err != nil {
				return [32]byte{}, fmt.Errorf("digest keywords: %w", err)
			}
			facets[prof] = f
		}
		buf = appendString(buf[:0], d.id)
		buf = binary.BigEndian.AppendUint64(buf, uint64(s.positions[d.n]))
		buf = appendString(buf, string(f))
		buf = binary.AppendUvarint(buf, uint64(s.lens[d.n]))
		counts = s.forward.get(counts[:0], s.refs[d.n])
		slices.SortFunc(counts, func(a, b count) int { return cmp.Compare(rank[a.term], rank[b.term]) })
		buf = binary.AppendUvarint(buf, uint64(len(counts)))
		for _, c := range counts {
			buf = appendString(buf, string(s.terms.term(c.term)))
			buf = binary.AppendUvarint(buf, uint64(c.tf))
		}
		if _, err := h.Write(buf); err != nil {
			return [32]byte{}, fmt.Errorf("digest keywords: %w", err)
		}
	}
	return [32]byte(h.Sum(nil)), nil
}

// ranks returns every term's place in the order of their bytes.
func (s *state) ranks() []uint32 {
	order := make([]uint32, s.terms.len())
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return slices.Compare(s.terms.term(a), s.terms.term(b))
	})
	rank := make([]uint32, len(order))
	for at, t := range order {
		rank[t] = uint32(at)
	}
	return rank
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
