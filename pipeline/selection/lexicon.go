package selection

import (
	"strings"
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

// Limits of the lexicon; past them words or items start again.
const (
	lexiconWords = 128 << 10
	lexiconDocs  = 64 << 10
	docWords     = 512 // distinct words of an item that count
	pageWords    = 1024
)

// lexicon holds the quantised vectors of words and the words of items seen lately, so
// that word-level closeness costs no embedding on a warm path. It is a cache: bounded,
// in memory only, safe for concurrent use, and without it results are the same.
type lexicon struct {
	source WordVectors

	mu     sync.RWMutex
	stride int
	ids    map[string]int32
	pages  [][]int8 // rows of pageWords words each
	scales []float32
	docs   map[docKey]doc
	stamps []uint32 // by word: the reading it was last seen in
	stamp  uint32
	vector []float32

	scratch sync.Pool // of *wordCloseness
}

type docKey struct{ tenant, id string }

type doc struct {
	position int64
	words    []int32 // distinct
	length   int32   // all words
}

func newLexicon(source WordVectors) *lexicon {
	l := &lexicon{source: source}
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
	l.ids = make(map[string]int32, 4096)
	l.docs = make(map[docKey]doc, 1024)
	l.pages, l.scales, l.stamps, l.stamp = nil, nil, nil, 0
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
	if len(l.docs) > lexiconDocs { // their words are worth more: each cost an embedding
		l.docs = make(map[docKey]doc, 1024)
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
		id, ok := l.ids[w]
		if !ok {
			return false
		}
		v.query[i] = id
	}
	for i, r := range records {
		d, ok := l.docs[docKey{tenant, r.ID}]
		if !ok || d.position != r.Position {
			return false
		}
		v.docs[i] = d
	}
	l.show(v)
	return true
}

func (l *lexicon) read(tenant string, r *schemas.Record) doc {
	key := docKey{tenant, r.ID}
	if d, ok := l.docs[key]; ok && d.position == r.Position {
		return d
	}
	d := doc{position: r.Position, words: make([]int32, 0, 24)}
	l.stamp++
	eachWord(spoken(r), func(w string) {
		d.length++
		if len(d.words) >= docWords {
			return
		}
		if id := l.intern(w); l.stamps[id] != l.stamp {
			l.stamps[id] = l.stamp
			d.words = append(d.words, id)
		}
	})
	l.docs[key] = d
	return d
}

// intern returns the number of a word. Rows that a view may see never change.
func (l *lexicon) intern(w string) int32 {
	if id, ok := l.ids[w]; ok {
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
	l.ids[strings.Clone(w)] = id // w may be a part of an item's text
	return id
}

// spoken is "speaker: text", what is indexed of an item.
func spoken(r *schemas.Record) string {
	if r.Speaker == "" {
		return r.Content.Text()
	}
	return r.Speaker + ": " + r.Content.Text()
}
