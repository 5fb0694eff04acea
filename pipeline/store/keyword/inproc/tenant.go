package inproc

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"satchel/pipeline/store/internal/idtable"
	"satchel/pipeline/store/internal/profile"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// ErrFull is returned by Apply when a tenant has outgrown what one index can number
// (4 GiB of ids, 4 GiB of terms, 32 GiB of postings).
var ErrFull = errors.New("keyword index of the tenant is full")

// gone marks a document that was removed or replaced.
const gone = math.MaxUint32

// tenant is the index of one tenant. Documents are numbered in the order they came; a
// replaced one gets a new number. Writers hold write for as long as they work, and lock
// only while they change what readers see; readers hold lock for reading.
type tenant struct {
	write sync.Mutex
	lock  sync.RWMutex
	*state
}

// state is all of a tenant's data. Compaction builds a new one beside it.
type state struct {
	checkpoint int64
	ids        *idtable.Table
	facets     *profile.Dict
	terms      dict
	postings   []posting
	chunks     chunks
	forward    forward

	// By document number.
	refs      []uint64
	positions []int64
	profiles  []uint32 // or gone
	lens      []uint32

	live     []uint32 // live documents by profile
	passed   passed
	docs     int
	totalLen int64
	counts   []count // scratch of writers
	numbers  []uint32
}

func newState() *state {
	return &state{ids: idtable.New(0), facets: profile.New(), terms: newDict()}
}

// put adds a document, which replaces the one with its id.
func (s *state) put(id string, position int64, f schemas.Facets, a *keyword.Analyzer) error {
	s.numbers = s.numbers[:0]
	for i := range a.Len() {
		n, ok := s.terms.intern(a.Term(i))
		if !ok {
			return fmt.Errorf("index item %q: %w", id, ErrFull)
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
	return s.add(id, position, s.facets.Intern(f), uint32(a.Len()), s.counts)
}

// add appends a document whose terms have their numbers.
func (s *state) add(id string, position int64, prof, length uint32, counts []count) error {
	if s.chunks.full() {
		return fmt.Errorf("index item %q: %w", id, ErrFull)
	}
	s.remove(id)
	doc, isNew := s.ids.Intern(id)
	if !isNew {
		return fmt.Errorf("index item %q: %w", id, ErrFull)
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
	for len(s.live) <= int(prof) {
		s.live = append(s.live, 0)
	}
	s.live[prof]++
	s.passed.forget()
	s.docs++
	s.totalLen += int64(length)
	return nil
}

// remove takes a document out, if it is there.
func (s *state) remove(id string) {
	doc, ok := s.ids.Delete(id)
	if !ok {
		return
	}
	var buf [128]count
	for _, c := range s.forward.get(buf[:0], s.refs[doc]) {
		s.postings[c.term].df--
	}
	s.live[s.profiles[doc]]--
	s.passed.forget()
	s.profiles[doc] = gone
	s.docs--
	s.totalLen -= int64(s.lens[doc])
}

// wasteful reports whether so many documents are gone that compaction pays.
func (s *state) wasteful() bool {
	dead := len(s.refs) - s.docs
	return dead > 1024 && dead > s.docs/4
}

// compact returns a copy of s without what is gone: no dead document, no term, label or
// session that only dead documents had. It only reads s.
func (s *state) compact() (*state, error) {
	n := newState()
	n.checkpoint = s.checkpoint
	n.ids = idtable.New(s.docs)
	remap := make([]uint32, s.terms.len()) // new number plus one
	profiles := make([]uint32, s.facets.Len())
	var counts []count
	for doc, prof := range s.profiles {
		if prof == gone {
			continue
		}
		counts = s.forward.get(counts[:0], s.refs[doc])
		for i, c := range counts {
			if remap[c.term] == 0 {
				t, ok := n.terms.intern(s.terms.term(c.term))
				if !ok {
					return nil, ErrFull
				}
				remap[c.term] = t + 1
			}
			counts[i].term = remap[c.term] - 1
		}
		slices.SortFunc(counts, func(a, b count) int { return int(int64(a.term) - int64(b.term)) })
		if profiles[prof] == 0 {
			profiles[prof] = n.facets.Intern(s.facets.Facets(prof)) + 1
		}
		id := s.ids.ID(uint32(doc))
		if err := n.add(id, s.positions[doc], profiles[prof]-1, s.lens[doc], counts); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// bytes returns roughly what memory the tenant holds.
func (s *state) bytes() int64 {
	return int64(s.ids.Bytes() + s.facets.Bytes() + s.terms.bytes() + s.chunks.bytes() + s.forward.size +
		20*cap(s.postings) + 8*cap(s.refs) + 8*cap(s.positions) + 4*cap(s.profiles) + 4*cap(s.lens) + 4*cap(s.live) + 1024)
}
