package inproc

import (
	"bufio"
	"encoding/binary"
	"io"

	"satchel/pipeline/store/internal/profile"
	"satchel/pipeline/store/internal/snapfile"
	"satchel/pipeline/store/keyword"
)

// ErrDamaged is what Config.OnError is told of a snapshot that cannot be read.
var ErrDamaged = snapfile.ErrDamaged

// A snapshot is: magic; the tenant; uvarints of the analysis version and the checkpoint;
// the terms; the facets; the documents (id, position, profile, length, counts as in
// forward), each list with its count before it; SHA-256 of all that. Strings carry
// their length. Terms and profiles are numbered anew, so that only live ones are there.
const magic = "satchel keyword 1\n"

// encode writes the live part of s.
func (s *state) encode(w *bufio.Writer, tenant string) error {
	b := appendString([]byte(magic), tenant)
	b = binary.AppendUvarint(b, keyword.Version)
	b = binary.AppendUvarint(b, uint64(s.checkpoint))
	number := make([]uint32, s.terms.len())
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
			b = appendString(b, string(s.terms.term(uint32(t))))
		}
	}
	facets := profile.New()
	profiles := make([]uint32, s.facets.Len())
	for p, live := range s.live {
		if live > 0 {
			profiles[p] = facets.Intern(s.facets.Facets(uint32(p)))
		}
	}
	b = facets.AppendTo(b)
	b = binary.AppendUvarint(b, uint64(s.docs))
	if _, err := w.Write(b); err != nil {
		return err
	}
	var counts []count
	for doc, prof := range s.profiles {
		if prof == gone {
			continue
		}
		b = appendString(b[:0], s.ids.ID(uint32(doc)))
		b = binary.AppendVarint(b, s.positions[doc])
		b = binary.AppendUvarint(b, uint64(profiles[prof]))
		b = binary.AppendUvarint(b, uint64(s.lens[doc]))
		counts = s.forward.get(counts[:0], s.refs[doc])
		for i := range counts {
			counts[i].term = number[counts[i].term]
		}
		if _, err := w.Write(appendCounts(b, counts)); err != nil {
			return err
		}
	}
	return nil
}

// readSnapshot returns the tenant's state on disk, an empty one when there is none.
func (x *Index) readSnapshot(tenant string) (s *state, err error) {
	found, err := x.files.Read(tenant, func(r io.Reader, size int64) error {
		raw := make([]byte, size)
		_, err := io.ReadFull(r, raw)
		if err == nil {
			s, err = decode(raw, tenant)
		}
		return err
	})
	if err != nil || found {
		return s, err
	}
	return newState(), nil
}
