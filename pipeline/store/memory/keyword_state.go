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

// putDocument adds a document, which replaces the one with its id.
func (s *keywordState) putDocument(id string, position int64, f schemas.Facets, a *language.Analyzer) error {
	s.numbers = s.numbers[:0]
	for i := range a.Len() {
		n, ok := s.terms.internTerm(a.Term(i))
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
	return s.addDocument(id, position, s.Facets.Intern(f), uint32(a.Len()), s.counts)
}

// addDocument appends a document whose terms have their numbers.
func (s *keywordState) addDocument(id string, position int64, prof, length uint32, counts []count) error {
	if s.chunks.hasReachedLimit() {
		return fmt.Errorf("index item %q: %w", id, ErrKeywordFull)
	}
	s.removeDocument(id)
	doc, isNew := s.IDs.Intern(id)
	if !isNew {
		return fmt.Errorf("index item %q: %w", id, ErrKeywordFull)
	}
	for len(s.postings) < s.terms.countTerms() {
		s.postings = append(s.postings, posting{})
	}
	for _, c := range counts {
		p := &s.postings[c.term]
		s.chunks.appendDocument(p, doc, c.tf)
		p.df++
	}
	s.refs = append(s.refs, s.forward.storeCounts(counts))
	s.positions = append(s.positions, position)
	s.profiles = append(s.profiles, prof)
	s.lens = append(s.lens, length)
	s.tallyDocument(prof, 1, length)
	return nil
}

// removeDocument takes a document out, if it is there.
func (s *keywordState) removeDocument(id string) {
	doc, ok := s.IDs.Delete(id)
	if !ok {
		return
	}
	var buf [128]count
	for _, c := range s.forward.appendStoredCounts(buf[:0], s.refs[doc]) {
		s.postings[c.term].df--
	}
	s.tallyDocument(s.profiles[doc], -1, s.lens[doc])
	s.profiles[doc] = keywordGone
}

// tallyDocument notes one more document of a profile and a length, or one fewer.
func (s *keywordState) tallyDocument(prof uint32, by int, length uint32) {
	s.Count(prof, by)
	for len(s.lengths) < len(s.Live) {
		s.lengths = append(s.lengths, 0)
	}
	s.lengths[prof] += int64(by) * int64(length)
	s.matches.forgetCounts()
}

// Compact implements sharedState: no dead document, no term, label or session that only
// dead documents had is in the copy.
func (s *keywordState) Compact() (*keywordState, error) {
	n := emptyKeywordState(s.Docs)
	n.Checkpoint = s.Checkpoint
	remap := make([]uint32, s.terms.countTerms()) // new number plus one
	profiles := make([]uint32, s.Facets.Len())
	var counts []count
	for doc, prof := range s.profiles {
		if prof == keywordGone {
			continue
		}
		counts = s.forward.appendStoredCounts(counts[:0], s.refs[doc])
		for i, c := range counts {
			if remap[c.term] == 0 {
				t, ok := n.terms.internTerm(s.terms.readTerm(c.term))
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
		if err := n.addDocument(id, s.positions[doc], profiles[prof]-1, s.lens[doc], counts); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// Bytes implements sharedState.
func (s *keywordState) Bytes() int64 {
	return int64(s.IDs.Bytes() + s.Facets.Bytes() + s.terms.countTermBytes() + s.chunks.countChunkBytes() + s.forward.size +
		20*cap(s.postings) + 8*cap(s.refs) + 8*cap(s.positions) + 4*cap(s.profiles) + 4*cap(s.lens) + 12*cap(s.Live) + 1024)
}
