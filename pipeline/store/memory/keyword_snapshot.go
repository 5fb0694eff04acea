package memory

import (
	"bufio"
	"encoding/binary"
	"io"

	"satchel/pipeline/store/internal/columns"
	"satchel/pipeline/store/keyword"
)

// A snapshot is, between what snapshotFolder puts before and after it: magic; the tenant;
// uvarints of the analysis version and the checkpoint; the terms; the facets; the documents
// (id, position, profile, length, counts as in forward), each list with its count before it.
// Strings carry their length. Terms and profiles are numbered again, so that only live ones
// are there.
const keywordMagic = "satchel keyword 1\n"

// encodeState writes the live part of s.
func encodeState(w *bufio.Writer, tenant string, s *keywordState) error {
	b := columns.AppendString([]byte(keywordMagic), tenant)
	b = binary.AppendUvarint(b, keyword.Version)
	b = binary.AppendUvarint(b, uint64(s.Checkpoint))
	number := make([]uint32, s.terms.countTerms())
	n := uint32(0)
	for t := range s.postings {
		if s.postings[t].df > 0 {
			number[t] = n
			n++
		}
	}
	b = binary.AppendUvarint(b, uint64(n))
	for t := range s.postings {
		if s.postings[t].df > 0 {
			b = columns.AppendString(b, string(s.terms.readTerm(uint32(t))))
		}
	}
	dict, profiles := s.LiveFacets()
	b = dict.AppendTo(b)
	b = binary.AppendUvarint(b, uint64(s.Docs))
	if _, err := w.Write(b); err != nil {
		return err
	}
	var counts []count
	for doc, prof := range s.profiles {
		if prof == keywordGone {
			continue
		}
		b = columns.AppendString(b[:0], s.IDs.ID(uint32(doc)))
		b = binary.AppendVarint(b, s.positions[doc])
		b = binary.AppendUvarint(b, uint64(profiles[prof]))
		b = binary.AppendUvarint(b, uint64(s.lens[doc]))
		counts = s.forward.appendStoredCounts(counts[:0], s.refs[doc])
		for i := range counts {
			counts[i].term = number[counts[i].term]
		}
		if _, err := w.Write(appendCounts(b, counts)); err != nil {
			return err
		}
	}
	return nil
}

// readKeyword reads a snapshot of size bytes.
func readKeyword(r io.Reader, size int64, tenant string) (*keywordState, error) {
	raw := make([]byte, size)
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, err
	}
	return decodeState(raw, tenant)
}
