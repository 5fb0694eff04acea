package selection

import (
	"hash/maphash"
	"sync"

	"satchel/pipeline/dot"
	"satchel/schemas"
)

// WordVectors is what an embedder offers besides [embed.Embedder] when it can embed
// a single word cheaply. dst is used when it is long enough. ReadsWords is the share of
// a text, 0–1, whose words it knows.
type WordVectors interface {
	WordVector(dst []float32, word string) []float32
	ReadsWords(text string) float64
}

// Limits of the lexicon.
const (
	lexiconWords = 128 << 10 // past them all starts again; some 270 bytes each
	docWords     = 512       // distinct words of an item that count
	pageWords    = 1024
)

// lexicon holds the quantised vectors of words, and which words items have, so that
// word-level closeness costs no embedding on a warm path. It is a cache: in memory only,
// at most 36 MiB of words, known by hashes under a random seed, and listBytes of items.
// Without it results are the same. Safe for concurrent use.
type lexicon struct {
	source WordVectors
	seed   maphash.Seed

	mu     sync.RWMutex
	stride int
	ids    map[uint64]int32 // by a word's hash
	pages  [][]int8         // rows of pageWords words each
	scales []float32
	lists  wordLists
	stamps []uint32 // by word: the reading it was last seen in
	stamp  uint32
	vector []float32
	words  []int32 // of the item that is read

	scratch sync.Pool // of *wordCloseness
}

func newLexicon(source WordVectors) *lexicon {
	l := &lexicon{source: source, seed: maphash.MakeSeed()}
	l.reset()
	return l
}

// forget empties the lexicon: what was erased must not stay in it.
func (l *lexicon) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reset()
}

// reset makes everything new: a view that is in use keeps what it has.
func (l *lexicon) reset() {
	l.ids = make(map[uint64]int32, 4096)
	l.lists = newWordLists(listBytes)
	l.pages, l.scales, l.stamps, l.stamp, l.words = nil, nil, nil, 0, nil
}

// view is a consistent look at the lexicon: word rows and the words of items, in the
// order they were asked for. Word numbers are valid within one view only.
type view struct {
	stride int
	pages  [][]int8
	scales []float32
	query  []int32
	docs   []doc

	scratch *sync.Pool // nil: none
}

// take returns room to compare words in; give takes it back.
func (v *view) take() *wordCloseness {
	if v.scratch != nil {
		if c, ok := v.scratch.Get().(*wordCloseness); ok {
			return c
		}
	}
	return &wordCloseness{}
}

func (v *view) give(c *wordCloseness) {
	if v.scratch != nil {
		v.scratch.Put(c)
	}
}

func (v *view) row(word int32) []int8 {
	at := int(word) % pageWords * v.stride
	return v.pages[word/pageWords][at : at+v.stride]
}

// look returns the words of the query and of the records, embedding what is new.
func (l *lexicon) look(tenant string, query []string, records []*schemas.Record) view {
	v := view{docs: make([]doc, len(records)), query: make([]int32, len(query)), scratch: &l.scratch}
	if l.cached(tenant, query, records, &v) {
		return v
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) > lexiconWords {
		l.reset()
	}
	for i, w := range query {
		v.query[i] = l.intern(w)
	}
	for i, r := range records {
		v.docs[i] = l.read(tenant, r)
	}
	l.show(&v)
	return v
}

func (l *lexicon) show(v *view) { v.stride, v.pages, v.scales = l.stride, l.pages, l.scales }

// cached fills the view from what is there and reports whether that was everything.
func (l *lexicon) cached(tenant string, query []string, records []*schemas.Record, v *view) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for i, w := range query {
		id, ok := l.ids[maphash.String(l.seed, w)]
		if !ok {
			return false
		}
		v.query[i] = id
	}
	lists := l.lists.tenants[tenant]
	for i, r := range records {
		d, ok := l.lists.get(lists, r.ID, r.Position)
		if !ok {
			return false
		}
		v.docs[i] = d
	}
	l.show(v)
	return true
}

func (l *lexicon) read(tenant string, r *schemas.Record) doc {
	if d, ok := l.lists.get(l.lists.tenants[tenant], r.ID, r.Position); ok {
		return d
	}
	words, length := l.words[:0], int32(0)
	l.stamp++
	eachWord(spoken(r), func(w string) {
		length++
		if len(words) >= docWords {
			return
		}
		if id := l.intern(w); l.stamps[id] != l.stamp {
			l.stamps[id] = l.stamp
			words = append(words, id)
		}
	})
	l.words = words
	return l.lists.put(tenant, r.ID, r.Position, length, words)
}

// intern returns the number of a word. Rows that a view may see never change.
func (l *lexicon) intern(w string) int32 {
	key := maphash.String(l.seed, w)
	if id, ok := l.ids[key]; ok {
		return id
	}
	l.vector = l.source.WordVector(l.vector, w)
	vector := l.vector
	l.stride = (len(vector) + dot.Lane - 1) / dot.Lane * dot.Lane
	id := int32(len(l.scales))
	if id%pageWords == 0 {
		l.pages = append(l.pages, make([]int8, pageWords*l.stride))
	}
	at := int(id) % pageWords * l.stride
	l.stamps = append(l.stamps, 0)
	l.scales = append(l.scales, dot.Quantise(l.pages[id/pageWords][at:at+l.stride], vector))
	l.ids[key] = id
	return id
}

// spoken is "speaker: text", what is indexed of an item.
func spoken(r *schemas.Record) string {
	if r.Speaker == "" {
		return r.Content.Text()
	}
	return r.Speaker + ": " + r.Content.Text()
}
