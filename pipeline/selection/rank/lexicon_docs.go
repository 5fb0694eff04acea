package rank

import (
	"hash/maphash"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
)

// Bounds of wordLists.
const (
	listBytes = 32 << 20 // of all lists: some 300,000 items of 12 distinct words
	listPage  = 16 << 10 // numbers in a page
	listHead  = 6        // numbers before the words of an item
	listPlace = 32       // bytes an entry of a map takes, about
)

// doc is the words of an item.
type doc struct {
	words  []int32 // distinct
	length int32   // all words
}

// wordLists keeps the words of items in pages that hold no pointers. When all of it is
// more than most bytes, the tenant that has the most loses its oldest page. An item is
// known by a hash under a random seed, see keyOf.
type wordLists struct {
	seed    maphash.Seed
	most    int
	bytes   int
	tenants map[string]*tenantLists
}

// tenantLists is what is kept of a tenant.
type tenantLists struct {
	at    map[uint64]uint64 // by keyOf: number of the page << 32 | place in it
	pages [][]int32         // the oldest first; what is written in one is never changed
	first uint64            // number of pages[0]
	bytes int
}

func newWordLists(most int) wordLists {
	return wordLists{seed: maphash.MakeSeed(), most: most, tenants: map[string]*tenantLists{}}
}

// isNearlyFull reports whether more pushes out what is there.
func (l *wordLists) isNearlyFull() bool { return l.bytes+4*listPage > l.most }

// keyOf returns by what an item's words are known: by its id and version, or, where part of it may be hidden, by what
// may be seen of it.
func (l *wordLists) keyOf(v *candidate.Visible) (key uint64, position int64) {
	if !v.Masked {
		return maphash.String(l.seed, v.ID), v.Position
	}
	var h maphash.Hash
	h.SetSeed(l.seed)
	h.WriteString(v.Speaker)
	h.WriteByte(0)
	h.WriteString(language.ComparedHead(v.Content.Text()))
	return h.Sum64(), 0
}

func (l *wordLists) findWordList(t *tenantLists, key uint64, position int64) (doc, bool) {
	if t == nil {
		return doc{}, false
	}
	place, ok := t.at[key]
	if !ok {
		return doc{}, false
	}
	list := t.pages[place>>32-t.first][uint32(place):]
	if joinHalves(list[2], list[3]) != uint64(position) {
		return doc{}, false
	}
	end := listHead + list[5]
	return doc{words: list[listHead:end:end], length: list[4]}, true
}

// keepWordList keeps a copy of an item's words and returns it.
func (l *wordLists) keepWordList(tenant string, key uint64, position int64, length int32, list []int32) doc {
	size := listHead + len(list)
	for len(l.tenants) > 0 && l.isNearlyFull() {
		l.evictOldestPage()
	}
	t := l.tenants[tenant]
	if t == nil {
		t = &tenantLists{at: map[uint64]uint64{}}
		l.tenants[tenant] = t
	}
	last := l.makePageRoom(t, size)
	page := t.pages[last]
	at := len(page)
	if _, ok := t.at[key]; !ok {
		l.countBytes(t, listPlace)
	}
	page = append(page, int32(key), int32(key>>32), int32(position), int32(position>>32), length, int32(len(list)))
	page = append(page, list...)
	t.pages[last] = page
	t.at[key] = (t.first+uint64(last))<<32 | uint64(at)
	return doc{words: page[at+listHead : len(page) : len(page)], length: length}
}

// makePageRoom returns the place of the tenant's last page, which has room for size numbers.
func (l *wordLists) makePageRoom(t *tenantLists, size int) int {
	last := len(t.pages) - 1
	if last < 0 || len(t.pages[last])+size > listPage {
		t.pages = append(t.pages, nil)
		last = last + 1
	}
	if page := t.pages[last]; len(page)+size > cap(page) {
		grown := make([]int32, len(page), max(256, min(2*cap(page), listPage), len(page)+size))
		copy(grown, page)
		l.countBytes(t, 4*(cap(grown)-cap(page)))
		t.pages[last] = grown
	}
	return last
}

// evictOldestPage drops the oldest page of the tenant that has the most.
func (l *wordLists) evictOldestPage() {
	var name string
	var t *tenantLists
	for n, other := range l.tenants {
		if t == nil || other.bytes > t.bytes {
			name = n
			t = other
		}
	}
	page := t.pages[0]
	for at := 0; at < len(page); at += listHead + int(page[at+5]) {
		key := joinHalves(page[at], page[at+1])
		if t.at[key] == t.first<<32|uint64(at) {
			delete(t.at, key)
			l.countBytes(t, -listPlace)
		}
	}
	l.countBytes(t, -4*cap(page))
	t.pages[0] = nil
	t.pages = t.pages[1:]
	t.first = t.first + 1
	if len(t.pages) == 0 {
		l.bytes -= t.bytes
		delete(l.tenants, name)
	}
}

func (l *wordLists) countBytes(t *tenantLists, bytes int) {
	t.bytes = t.bytes + bytes
	l.bytes = l.bytes + bytes
}

func joinHalves(low, high int32) uint64 { return uint64(uint32(high))<<32 | uint64(uint32(low)) }
