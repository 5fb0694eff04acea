package rank

import (
	"hash/maphash"
	"sync"

	"satchel/pipeline/candidate"
)

// WordVectors is what an embedder offers besides [embed.Embedder] when it can embed
// a single word cheaply. dst is used when it is long enough. ReadsWords is the share of
// a text, 0–1, whose words it knows. It MUST be safe for concurrent use.
type WordVectors interface {
	WordVector(dst []float32, word string) []float32
	ReadsWords(text string) float64
}

// Limits of the lexicon.
const (
	lexiconWords = 128 << 10 // past them all starts again; some 270 bytes each
	docWords     = 4096      // distinct words of an item that count
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
	stems  []uint64 // by word: two words of one stem are equal
	lists  wordLists
	era    uint64 // counts resets

	scratch sync.Pool // of *wordCloseness
	seen    sync.Pool // of *sightings
}

func newLexicon(source WordVectors) *lexicon {
	l := &lexicon{source: source, seed: maphash.MakeSeed()}
	l.resetLexicon()
	return l
}

// forgetWords empties the lexicon: what was erased must not stay in it.
func (l *lexicon) forgetWords() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resetLexicon()
}

// resetLexicon makes everything new: a view that is in use keeps what it has.
func (l *lexicon) resetLexicon() {
	l.ids = make(map[uint64]int32, 4096)
	l.lists = newWordLists(listBytes)
	l.pages = nil
	l.scales = nil
	l.stems = nil
	l.era++
}

// view is a consistent look at the lexicon: word rows and the words of items, in the
// order they were asked for. Word numbers are valid within one view only.
type view struct {
	stride int
	pages  [][]int8
	scales []float32
	stems  []uint64
	query  []int32
	docs   []doc

	scratch *sync.Pool // nil: none
}

// takeScratch returns room to compare words in; give takes it back.
func (v *view) takeScratch() *wordCloseness {
	if v.scratch != nil {
		if c, ok := v.scratch.Get().(*wordCloseness); ok {
			return c
		}
	}
	return &wordCloseness{}
}

func (v *view) returnScratch(c *wordCloseness) {
	if v.scratch != nil {
		v.scratch.Put(c)
	}
}

func (v *view) findWordRow(word int32) []int8 {
	at := int(word) % pageWords * v.stride
	return v.pages[word/pageWords][at : at+v.stride]
}

// lookUpWords returns the words of the query and of the records, embedding what is new.
func (l *lexicon) lookUpWords(tenant string, query []string, records []*candidate.Visible) view {
	for {
		v := view{docs: make([]doc, len(records)), query: make([]int32, len(query)), scratch: &l.scratch}
		era, readers := l.readInEra(tenant, query, records, &v)
		if len(readers) == 0 || l.keepReadings(era, tenant, records, readers, &v) {
			return v
		}
	}
}

// readInEra is readAll, and says in which era: word numbers hold until it ends.
func (l *lexicon) readInEra(tenant string, query []string, records []*candidate.Visible, v *view) (era uint64, readers []*wordReader) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	readers = l.readAll(tenant, query, records, v)
	l.fillView(v)
	return l.era, readers
}

// keepReadings takes over what was read and completes the view with it. It reports false, and does
// nothing, when the era is another by now.
func (l *lexicon) keepReadings(era uint64, tenant string, records []*candidate.Visible, readers []*wordReader, v *view) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) > lexiconWords {
		l.resetLexicon()
	}
	if l.era != era {
		return false
	}
	for _, r := range readers {
		for i, key := range r.keys {
			r.numbers = append(r.numbers, l.addLexiconWord(key, r.scales[i], r.stems[i], r.rows[i]))
		}
		r.settleNumbers(r.words)
		from := 0
		for _, one := range r.readings {
			key, position := l.lists.keyOf(records[one.at])
			v.docs[one.at] = l.lists.keepWordList(tenant, key, position, one.length, r.words[from:one.end])
			from = one.end
		}
	}
	readers[0].settleNumbers(v.query)
	l.fillView(v)
	return true
}

func (l *lexicon) fillView(v *view) {
	v.stride = l.stride
	v.pages = l.pages
	v.scales = l.scales
	v.stems = l.stems
}

// addLexiconWord returns the number of a word, which is new as a rule. Rows that a view may see never
// change.
func (l *lexicon) addLexiconWord(key uint64, scale float32, stem uint64, row []int8) int32 {
	if id, ok := l.ids[key]; ok {
		return id
	}
	l.stride = len(row)
	id := int32(len(l.scales))
	if id%pageWords == 0 {
		l.pages = append(l.pages, make([]int8, pageWords*l.stride))
	}
	copy(l.pages[id/pageWords][int(id)%pageWords*l.stride:], row)
	l.scales = append(l.scales, scale)
	l.stems = append(l.stems, stem)
	l.ids[key] = id
	return id
}
