package rank

import (
	"hash/maphash"
	"iter"
	"math"
	"math/rand/v2"
	"sync"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/parallel"
	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/language"
)

// readPart is how many items a processor reads before it takes more.
const readPart = 12

// wordReader reads items into numbers of words, while nobody changes the lexicon. A word that
// the lexicon has not is embedded and gets a number of this reader, below 0.
type wordReader struct {
	l        *lexicon
	readings []reading
	words    []int32 // of the readings, one after another
	vector   []float32

	fresh   map[uint64]int32 // numbers of new words, by hash
	keys    []uint64         // of new words: that of number n is at ^n, as in all that follows
	scales  []float32
	stems   []uint64
	rows    [][]int8
	numbers []int32 // that the lexicon gave them, once it has

	analyzer language.Analyzer

	seen *sightings // nil before the first item
}

// sightings are the words of the item that is read, by what they hash to.
type sightings struct {
	item uint32 // from 1
	at   [2 * docWords]sighting
}

// sighting is a word of an item; for another item its place is free.
type sighting struct {
	item uint32
	word int32
}

// reading is an item that was read: its place among the records, and the end of its words.
type reading struct {
	at, end int
	length  int32
}

// readRecord reads the record at a place.
func (r *wordReader) readRecord(at int, record *candidate.Visible) {
	if r.seen == nil {
		r.seen = r.l.takeSightings()
	}
	from := len(r.words)
	length := int32(0)
	r.seen.item++
	if r.seen.item == 0 {
		*r.seen = sightings{item: 1}
	}
	word := func(w string) {
		length++
		if len(r.words)-from >= docWords {
			return
		}
		if n := r.numberWord(w); r.isFirstSighting(n) {
			r.words = append(r.words, n)
		}
	}
	language.EachWord(record.Speaker, word)
	language.EachWord(language.ComparedHead(record.Content.Text()), word)
	r.readings = append(r.readings, reading{at, len(r.words), length})
}

// takeSightings returns room for words, which may have been used before.
func (l *lexicon) takeSightings() *sightings {
	if s, ok := l.seen.Get().(*sightings); ok {
		return s
	}
	return &sightings{}
}

// isFirstSighting reports whether the item has the word for the first time.
func (r *wordReader) isFirstSighting(word int32) bool {
	for at := uint32(word) * 2654435761 >> 16; ; at++ {
		switch s := &r.seen.at[at%uint32(len(r.seen.at))]; {
		case s.item != r.seen.item:
			*s = sighting{r.seen.item, word}
			return true
		case s.word == word:
			return false
		}
	}
}

// numberWord returns the number of a word.
func (r *wordReader) numberWord(w string) int32 {
	key := maphash.String(r.l.seed, w)
	if n, ok := r.l.ids[key]; ok {
		return n
	}
	if n, ok := r.fresh[key]; ok {
		return n
	}
	r.vector = r.l.source.WordVector(r.vector, w)
	if language.IsSignedName(w) {
		standAlone(r.vector, w)
	}
	row := make([]int8, (len(r.vector)+vecmath.Lane-1)/vecmath.Lane*vecmath.Lane)
	n := ^int32(len(r.keys))
	r.keys = append(r.keys, key)
	r.rows = append(r.rows, row)
	r.scales = append(r.scales, vecmath.Quantise(row, r.vector))
	r.stems = append(r.stems, r.hashWordStem(w))
	if r.fresh == nil {
		r.fresh = map[uint64]int32{}
	}
	r.fresh[key] = n
	return n
}

// hashWordStem returns what a word has in common with those that the keyword index takes for the same.
func (r *wordReader) hashWordStem(w string) uint64 {
	r.analyzer.Analyze(w)
	if r.analyzer.Len() > 0 {
		return maphash.Bytes(r.l.seed, r.analyzer.Term(0))
	}
	return maphash.String(r.l.seed, w)
}

// standAlone makes a word's vector one that no other word's is near: what a model reads from parts of a name, as of
// 1.0.1 and 0.1.0 or of C# and C++, does not say that two are the same.
func standAlone(vector []float32, word string) {
	bits := rand.NewPCG(language.HashWord(word), uint64(len(word)))
	length := float32(1 / math.Sqrt(float64(len(vector))))
	for i := range vector {
		vector[i] = length
		if bits.Uint64()&1 == 1 {
			vector[i] = -length
		}
	}
}

// settleNumbers replaces the numbers of new words by those of the lexicon.
func (r *wordReader) settleNumbers(words []int32) {
	for i, n := range words {
		if n < 0 {
			words[i] = r.numbers[^n]
		}
	}
}

// readAll sets in v what the lexicon has of the query and the records, and returns the
// readers that have read the rest, that of the query first; none when there is no rest. The
// lexicon MUST stay as it is meanwhile.
func (l *lexicon) readAll(tenant string, query []string, records []*candidate.Visible, v *view) []*wordReader {
	asked := &wordReader{l: l}
	for i, w := range query {
		v.query[i] = asked.numberWord(w)
	}
	lists := l.lists.tenants[tenant]
	var rest []int
	for i, r := range records {
		key, position := l.lists.keyOf(r)
		doc, ok := l.lists.findWordList(lists, key, position)
		v.docs[i] = doc
		if !ok {
			rest = append(rest, i)
		}
	}
	if len(rest) == 0 && len(asked.keys) == 0 {
		return nil
	}
	readers := []*wordReader{asked}
	var mu sync.Mutex
	parallel.Parts(len(rest), readPart, func(parts iter.Seq2[int, int]) {
		r := &wordReader{l: l}
		for from, to := range parts {
			for _, i := range rest[from:to] {
				r.readRecord(i, records[i])
			}
		}
		if r.seen != nil {
			l.seen.Put(r.seen)
		}
		mu.Lock()
		defer mu.Unlock()
		readers = append(readers, r)
	})
	return readers
}
