package memory

import (
	"errors"
	"unsafe"

	"satchel/pipeline/store/internal/columns"
	"satchel/pipeline/store/keyword"
)

// errVersion is why a whole snapshot of other analysis rules is not used.
var errVersion = errors.New("keyword snapshot has another analysis version")

// decodeState reads what encodeState wrote for tenant. raw MUST NOT be changed any more.
func decodeState(raw []byte, tenant string) (*keywordState, error) {
	c := columns.NewCursor(unsafe.String(unsafe.SliceData(raw), len(raw)))
	if c.Bytes(len(keywordMagic)) != keywordMagic || c.Str() != tenant {
		return nil, ErrDamaged
	}
	if c.Uvarint() != keyword.Version && c.OK() {
		return nil, errVersion
	}
	s := newKeywordState()
	s.Checkpoint = int64(c.Uvarint())
	for n := range c.Count() {
		if at, ok := s.terms.internTerm([]byte(c.Str())); !ok || int(at) != n {
			return nil, ErrDamaged
		}
	}
	dict, err := columns.DecodeDict(c)
	if s.Checkpoint < 0 || err != nil {
		return nil, ErrDamaged
	}
	s.Facets = dict
	n := c.Count()
	s.IDs = columns.NewIDs(n)
	s.reserveDocuments(n)
	var counts []count
	for range n {
		id := c.Str()
		position := c.Varint()
		prof := c.Uvarint()
		length := c.Uvarint()
		counts = readCounts(c, counts[:0], s.terms.countTerms(), length)
		if !c.OK() || prof >= uint64(dict.Len()) {
			return nil, ErrDamaged
		}
		if err := s.addDocument(id, position, uint32(prof), uint32(length), counts); err != nil {
			return nil, ErrDamaged
		}
	}
	if !c.Done() || s.Docs != n {
		return nil, ErrDamaged
	}
	return s, nil
}

// reserveDocuments makes room for n documents.
func (s *keywordState) reserveDocuments(n int) {
	s.refs = make([]uint64, 0, n)
	s.positions = make([]int64, 0, n)
	s.profiles = make([]uint32, 0, n)
	s.lens = make([]uint32, 0, n)
}

// readCounts reads a document's terms, which add up to length.
func readCounts(c *columns.Cursor, dst []count, terms int, length uint64) []count {
	term := uint64(0)
	sum := uint64(0)
	for i := range c.Count() {
		step := c.Uvarint()
		if i > 0 && step < 2 {
			c.Fail()
		}
		term += step >> 1
		tf := uint64(1)
		if step&1 == 1 {
			tf = c.Uvarint()
		}
		sum += tf
		if !c.OK() || term >= uint64(terms) || tf == 0 || sum > length {
			c.Fail()
			return nil
		}
		dst = append(dst, count{uint32(term), uint32(tf)})
	}
	if sum != length || length >= keywordGone {
		c.Fail()
	}
	return dst
}
