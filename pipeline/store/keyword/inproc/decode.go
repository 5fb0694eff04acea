package inproc

import (
	"encoding/binary"
	"errors"
	"strings"

	"satchel/pipeline/store/internal/idtable"
	"satchel/pipeline/store/internal/profile"
	"satchel/pipeline/store/keyword"
)

// errVersion is why a whole snapshot of other analysis rules is not used.
var errVersion = errors.New("keyword snapshot has another analysis version")

// decode reads what encode wrote for tenant.
func decode(raw []byte, tenant string) (*state, error) {
	rest, ok := strings.CutPrefix(string(raw[:min(len(raw), len(magic))]), magic)
	if !ok || rest != "" {
		return nil, ErrDamaged
	}
	r := &reader{b: raw[len(magic):]}
	if string(r.str()) != tenant {
		return nil, ErrDamaged
	}
	if r.uvarint() != keyword.Version && !r.bad {
		return nil, errVersion
	}
	s := newState()
	s.checkpoint = int64(r.uvarint())
	for n := range r.count() {
		if at, ok := s.terms.intern(r.str()); !ok || int(at) != n {
			return nil, ErrDamaged
		}
	}
	facets, b, err := profile.Decode(r.b)
	if r.bad || s.checkpoint < 0 || err != nil {
		return nil, ErrDamaged
	}
	s.facets, r.b = facets, b
	n := r.count()
	s.ids = idtable.New(n)
	s.presize(n)
	var counts []count
	for range n {
		id, position, prof, length := r.str(), r.varint(), r.uvarint(), r.uvarint()
		if counts = r.counts(counts[:0], s.terms.len(), length); r.bad || prof >= uint64(facets.Len()) {
			return nil, ErrDamaged
		}
		if err := s.add(string(id), position, uint32(prof), uint32(length), counts); err != nil {
			return nil, ErrDamaged
		}
	}
	if r.bad || len(r.b) > 0 || s.docs != n {
		return nil, ErrDamaged
	}
	return s, nil
}

// presize makes room for n documents.
func (s *state) presize(n int) {
	s.refs = make([]uint64, 0, n)
	s.positions = make([]int64, 0, n)
	s.profiles = make([]uint32, 0, n)
	s.lens = make([]uint32, 0, n)
}

// reader takes values from the head of b; bad is set once something does not fit.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads how many elements follow; each takes a byte at least.
func (r *reader) count() int {
	v := r.uvarint()
	if v > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	return int(v)
}

func (r *reader) str() []byte {
	n := r.count()
	s := r.b[:n:n]
	r.b = r.b[n:]
	return s
}

// counts reads a document's terms, which add up to length.
func (r *reader) counts(dst []count, terms int, length uint64) []count {
	term, sum := uint64(0), uint64(0)
	for i := range r.count() {
		step := r.uvarint()
		if i > 0 && step < 2 {
			r.bad = true
		}
		term += step >> 1
		tf := uint64(1)
		if step&1 == 1 {
			tf = r.uvarint()
		}
		sum += tf
		if r.bad || term >= uint64(terms) || tf == 0 || sum > length {
			r.bad = true
			return nil
		}
		dst = append(dst, count{uint32(term), uint32(tf)})
	}
	r.bad = r.bad || sum != length || length >= gone
	return dst
}
