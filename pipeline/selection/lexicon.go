package selection

import (
	"sync"

	"satchel/schemas"
)

// WordVectors is what an embedder offers besides [embed.Embedder] when it can embed
// a single word cheaply. dst is used when it is long enough.
type WordVectors interface {
	WordVector(dst []float32, word string) []float32
}

// Limits of the lexicon; past them it starts again.
const (
	lexiconWords = 24 << 10
	lexiconDocs  = 16 << 10
	docWords     = 512 // distinct words of an item that count
)

// lexicon holds the vectors of words and the words of items seen lately, so that
// word-level closeness costs no embedding on a warm path. It is a cache: bounded,
// safe for concurrent use, and without it results are the same.
type lexicon struct {
	source WordVectors

	mu      sync.RWMutex
	dim     int
	ids     map[string]int32
	vectors []float32
	docs    map[docKey]doc
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

func (l *lexicon) reset() {
	l.ids = make(map[string]int32, 4096)
	l.docs = make(map[docKey]doc, 1024)
	l.vectors = l.vectors[:0]
}

// view is a consistent look at the lexicon: the vectors and the words of items, in
// the order they were asked for. Word numbers are valid within one view only.
type view struct {
	dim     int
	vectors []float32
	query   []int32
	docs    []doc
}

func (v *view) vector(word int32) []float32 {
	return v.vectors[int(word)*v.dim : (int(word)+1)*v.dim]
}

// look returns the words of the query and of the records, embedding what is new.
func (l *lexicon) look(tenant string, query []string, records []*schemas.Record) view {
	v := view{docs: make([]doc, len(records)), query: make([]int32, len(query))}
	missing := l.cached(tenant, query, records, &v)
	if !missing {
		return v
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) > lexiconWords || len(l.docs) > lexiconDocs {
		// A view that is in use keeps the old array: reset must not write into it.
		l.vectors = nil
		l.reset()
	}
	for i, w := range query {
		v.query[i] = l.intern(w)
	}
	for i, r := range records {
		v.docs[i] = l.read(tenant, r)
	}
	v.dim, v.vectors = l.dim, l.vectors
	return v
}

// cached fills the view from what is there and reports whether something is missing.
func (l *lexicon) cached(tenant string, query []string, records []*schemas.Record, v *view) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for i, w := range query {
		id, ok := l.ids[w]
		if !ok {
			return true
		}
		v.query[i] = id
	}
	for i, r := range records {
		d, ok := l.docs[docKey{tenant, r.ID}]
		if !ok || d.position != r.Position {
			return true
		}
		v.docs[i] = d
	}
	v.dim, v.vectors = l.dim, l.vectors
	return false
}

func (l *lexicon) read(tenant string, r *schemas.Record) doc {
	key := docKey{tenant, r.ID}
	if d, ok := l.docs[key]; ok && d.position == r.Position {
		return d
	}
	d := doc{position: r.Position}
	seen := make(map[string]struct{}, 32)
	eachWord(spoken(r), func(w string) {
		d.length++
		if _, ok := seen[w]; ok || len(d.words) >= docWords {
			return
		}
		seen[w] = struct{}{}
		d.words = append(d.words, l.intern(w))
	})
	l.docs[key] = d
	return d
}

func (l *lexicon) intern(w string) int32 {
	if id, ok := l.ids[w]; ok {
		return id
	}
	vec := l.source.WordVector(nil, w)
	l.dim = len(vec)
	id := int32(len(l.ids))
	l.ids[w] = id
	l.vectors = append(l.vectors, vec...)
	return id
}

// spoken is "speaker: text", what is indexed of an item.
func spoken(r *schemas.Record) string {
	if r.Speaker == "" {
		return r.Content.Text()
	}
	return r.Speaker + ": " + r.Content.Text()
}
