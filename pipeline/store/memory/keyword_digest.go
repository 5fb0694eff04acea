package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"satchel/pipeline/store/internal/columns"
)

// Digest implements sharedState: the SHA-256 of the live documents' own SHA-256s, in their order: nothing of
// it depends on how documents are numbered. A document's preimage is its id, position (8
// bytes), its facets, its length, how many terms it has and, in order of
// term, each with its frequency; strings carry their length, numbers are uvarints.
func (s *keywordState) Digest(ctx context.Context) ([32]byte, error) {
	codes := s.facetsCodes()
	rank, order := s.rankTerms()
	sums := make([][32]byte, 0, s.Docs)
	var buf []byte
	var counts []count
	var keys []uint64
	for doc, prof := range s.profiles {
		if err := ctx.Err(); doc%1024 == 0 && err != nil {
			return [32]byte{}, err
		}
		if prof == keywordGone {
			continue
		}
		buf = columns.AppendString(buf[:0], s.IDs.ID(uint32(doc)))
		buf = binary.BigEndian.AppendUint64(buf, uint64(s.positions[doc]))
		buf = append(buf, codes[prof]...)
		buf = binary.AppendUvarint(buf, uint64(s.lens[doc]))
		counts = s.forward.appendStoredCounts(counts[:0], s.refs[doc])
		keys = keys[:0]
		for _, c := range counts {
			keys = append(keys, uint64(rank[c.term])<<32|uint64(c.tf))
		}
		slices.Sort(keys)
		buf = binary.AppendUvarint(buf, uint64(len(keys)))
		for _, k := range keys {
			buf = columns.AppendString(buf, string(s.terms.readTerm(order[k>>32])))
			buf = binary.AppendUvarint(buf, k&keywordGone)
		}
		sums = append(sums, sha256.Sum256(buf))
	}
	slices.SortFunc(sums, func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	h := sha256.New()
	for i := range sums {
		if _, err := h.Write(sums[i][:]); err != nil {
			return [32]byte{}, err
		}
	}
	return [32]byte(h.Sum(nil)), nil
}

// facetsCodes returns the code of every live profile, with its length before it: the
// snapshot of a dictionary that holds nothing else.
func (s *keywordState) facetsCodes() [][]byte {
	out := make([][]byte, len(s.Live))
	for prof, live := range s.Live {
		if live > 0 {
			one := columns.NewDict()
			one.Intern(s.Facets.Facets(uint32(prof)))
			out[prof] = columns.AppendString(nil, string(one.AppendTo(nil)))
		}
	}
	return out
}

// rankTerms returns every term's place in the order of their bytes, and that order.
func (s *keywordState) rankTerms() (rank, order []uint32) {
	order = make([]uint32, s.terms.countTerms())
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return slices.Compare(s.terms.readTerm(a), s.terms.readTerm(b))
	})
	rank = make([]uint32, len(order))
	for at, t := range order {
		rank[t] = uint32(at)
	}
	return rank, order
}
