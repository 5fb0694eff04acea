package memory

import "encoding/binary"

// forward keeps every document's terms: uvarint of how many, then per term in order of
// number uvarint(step<<1 | more) and uvarint(tf) when more is set, else tf is 1. Pages
// double from 4 KiB to 1 MiB, so that a small tenant stays small.
type forward struct {
	pages [][]byte
	size  int
}

// count is a term of a document and how often it occurs.
type count struct{ term, tf uint32 }

const (
	firstPage = 4 << 10
	lastPage  = 1 << 20
)

// storeCounts stores the counts, sorted by term, and returns where.
func (f *forward) storeCounts(counts []count) uint64 {
	need := uvarintLen(uint64(len(counts)))
	last := uint32(0)
	for _, c := range counts {
		need += uvarintLen(uint64(c.term-last)<<1 | 1)
		if c.tf > 1 {
			need += uvarintLen(uint64(c.tf))
		}
		last = c.term
	}
	n := len(f.pages) - 1
	if n < 0 || len(f.pages[n])+need > cap(f.pages[n]) {
		size := max(need, min(firstPage<<min(len(f.pages), 8), lastPage))
		f.pages = append(f.pages, make([]byte, 0, size))
		f.size += size
		n++
	}
	page := f.pages[n]
	ref := uint64(n)<<32 | uint64(len(page))
	f.pages[n] = appendCounts(page, counts)
	return ref
}

func appendCounts(b []byte, counts []count) []byte {
	b = binary.AppendUvarint(b, uint64(len(counts)))
	last := uint32(0)
	for _, c := range counts {
		step := uint64(c.term-last) << 1
		last = c.term
		if c.tf == 1 {
			b = binary.AppendUvarint(b, step)
		} else {
			b = binary.AppendUvarint(binary.AppendUvarint(b, step|1), uint64(c.tf))
		}
	}
	return b
}

// findCountBytes returns the bytes of the counts stored at ref, and what follows them.
func (f *forward) findCountBytes(ref uint64) []byte { return f.pages[ref>>32][uint32(ref):] }

// appendStoredCounts appends the counts stored at ref to dst.
func (f *forward) appendStoredCounts(dst []count, ref uint64) []count {
	page := f.findCountBytes(ref)
	n, i := decodeUvarint(page, 0)
	term := uint32(0)
	for range n {
		step, next := decodeUvarint(page, i)
		i = next
		term += uint32(step >> 1)
		tf := uint64(1)
		if step&1 == 1 {
			tf, i = decodeUvarint(page, i)
		}
		dst = append(dst, count{term, uint32(tf)})
	}
	return dst
}

func decodeUvarint(b []byte, i int) (v uint64, next int) {
	if c := b[i]; c < 0x80 {
		return uint64(c), i + 1
	}
	v, n := binary.Uvarint(b[i:])
	return v, i + n
}
