package memory

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"satchel/pipeline/language"
	"satchel/schemas"
)

// ErrKeywordFull is returned by Apply when a tenant has outgrown what one index can number
// (4 GiB of ids, 4 GiB of terms, 32 GiB of postings).
var ErrKeywordFull = errors.New("keyword index of the tenant is full")

// keywordGone marks a document that was removed or replaced.
const keywordGone = math.MaxUint32

// keywordState is all of a tenant's data. Documents are numbered in the order they came.
type keywordState struct {
	baseState
	terms    dict
	postings []posting
	chunks   chunks
	forward  forward

	// By document number.
	refs      []uint64
	positions []int64
	profiles  []uint32 // or gone
	lens      []uint32

	lengths []int64 // of the live documents, summed by profile
	matches matchCounts

	// Scratch of writers.
	analyzers []language.Analyzer
	counts    []count
	numbers   []uint32
}

func newKeywordState() *keywordState { return emptyKeywordState(0) }

// emptyKeywordState has room for n documents.
func emptyKeywordState(n int) *keywordState {
	return &keywordState{baseState: newBaseState(n), terms: newDict()}
}

// put adds a document, which replaces the one with its id.
func (s *keywordState) put(id string, position int64, f schemas.Facets, a *language.Analyzer) error {
	s.numbers = s.numbers[:0]
	for i := range a.Len() {
		n, ok := s.terms.intern(a.Term(i))
		if !ok {
			return fmt.Errorf("index item %q: %w", id, ErrKeywordFull)
		}
		s.numbers = append(s.numbers, n)
	}
	slices.Sort(s.numbers)
	s.counts = s.counts[:0]
	for i := 0; i < len(s.numbers); {
		j := i + 1
		for j < len(s.numbers) && s.numbers[j] == s.numbers[i] {
			j++
		}
		s.counts = append(s.counts, count{s.numbers[i], uint32(j - i)})
		i = j
	}
	return s.add(id, position, s.Facets.Intern(f), uint32(a.Len()), s.counts)
}

// add appends a document whose terms have their numbers.
func (s *keywordState) add(id string, position int64, prof, length uint32, counts []count) error {
	if s.chunks.full() {
		return fmt.Errorf("index item %q: %w", id, ErrKeywordFull)
	}
	s.remove(id)
	doc, isNew := s.IDs.Intern(id)
	if !isNew {
		return fmt.Errorf("index item %q: %w", id, ErrKeywordFull)
	}
	for len(s.postings) < s.terms.len() {
		s.postings = append(s.postings, posting{})
	}
	for _, c := range counts {
		p := &s.postings[c.term]
		s.chunks.add(p, doc, c.tf)
		p.df++
	}
	s.refs = append(s.refs, s.forward.put(counts))
	s.positions = append(s.positions, position)
	s.profiles = append(s.profiles, prof)
	s.lens = append(s.lens, length)
	s.tally(prof, 1, length)
	return nil
}

// remove takes a document out, if it is there.
func (s *keywordState) remove(id string) {
	doc, ok := s.IDs.Delete(id)
	if !ok {
		return
	}
	var buf [128]count
	for _, c := range s.forward.get(buf[:0], s.refs[doc]) {
		s.postings[c.term].df--
	}
	s.tally(s.profiles[doc], -1, s.lens[doc])
	s.profiles[doc] = keywordGone
}

// tally notes one more document of a profile and a length, or one fewer.
func (s *keywordState) tally(prof uint32, by int, length uint32) {
	s.Count(prof, by)
	for len(s.lengths) < len(s.Live) {
		s.lengths = append(s.lengths, 0)
	}
	s.lengths[prof] += int64(by) * int64(length)
	s.matches.forget()
}

// Compact implements sharedState: no dead document, no term, label or session that only
// dead documents had is in the copy.
func (s *keywordState) Compact() (*keywordState, error) {
	n := emptyKeywordState(s.Docs)
	n.Checkpoint = s.Checkpoint
	remap := make([]uint32, s.terms.len()) // new number plus one
	profiles := make([]uint32, s.Facets.Len())
	var counts []count
	for doc, prof := range s.profiles {
		if prof == keywordGone {
			continue
		}
		counts = s.forward.get(counts[:0], s.refs[doc])
		for i, c := range counts {
			if remap[c.term] == 0 {
				t, ok := n.terms.intern(s.terms.term(c.term))
				if !ok {
					return nil, ErrKeywordFull
				}
				remap[c.term] = t + 1
			}
			counts[i].term = remap[c.term] - 1
		}
		slices.SortFunc(counts, func(a, b count) int { return int(int64(a.term) - int64(b.term)) })
		if profiles[prof] == 0 {
			profiles[prof] = n.Facets.Intern(s.Facets.Facets(prof)) + 1
		}
		id := s.IDs.ID(uint32(doc))
		if err := n.add(id, s.positions[doc], profiles[prof]-1, s.lens[doc], counts); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// Bytes implements sharedState.
func (s *keywordState) Bytes() int64 {
	return int64(s.IDs.Bytes() + s.Facets.Bytes() + s.terms.bytes() + s.chunks.bytes() + s.forward.size +
		20*cap(s.postings) + 8*cap(s.refs) + 8*cap(s.positions) + 4*cap(s.profiles) + 4*cap(s.lens) + 12*cap(s.Live) + 1024)
}
