package rank

import (
	"hash/maphash"
	"iter"
	"sync"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/parallel"
	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/selection/words"
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
	rows    [][]int8
	numbers []int32 // that the lexicon gave them, once it has

	item uint32     // the item that is read, from 1
	seen []sighting // of words, by what they hash to
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

// read reads the record at a place.
func (r *wordReader) read(at int, record *candidate.Visible) {
	if r.seen == nil {
		r.seen = make([]sighting, 2*docWords)
	}
	from, length := len(r.words), int32(0)
	r.item++
	word := func(w string) {
		length++
		if len(r.words)-from >= docWords {
			return
		}
		if n := r.number(w); r.first(n) {
			r.words = append(r.words, n)
		}
	}
	words.Each(record.Speaker, word)
	words.Each(record.Content.Text(), word)
	r.readings = append(r.readings, reading{at, len(r.words), length})
}

// first reports whether the item has the word for the first time.
func (r *wordReader) first(word int32) bool {
	for at := uint32(word) * 2654435761 >> 16; ; at++ {
		switch s := &r.seen[at%uint32(len(r.seen))]; {
		case s.item != r.item:
			*s = sighting{r.item, word}
			return true
		case s.word == word:
			return false
		}
	}
}

// number returns the number of a word.
func (r *wordReader) number(w string) int32 {
	key := maphash.String(r.l.seed, w)
	if n, ok := r.l.ids[key]; ok {
		return n
	}
	if n, ok := r.fresh[key]; ok {
		return n
	}
	r.vector = r.l.source.WordVector(r.vector, w)
	row := make([]int8, (len(r.vector)+vecmath.Lane-1)/vecmath.Lane*vecmath.Lane)
	n := ^int32(len(r.keys))
	r.keys, r.rows = append(r.keys, key), append(r.rows, row)
	r.scales = append(r.scales, vecmath.Quantise(row, r.vector))
	if r.fresh == nil {
		r.fresh = map[uint64]int32{}
	}
	r.fresh[key] = n
	return n
}

// settle replaces the numbers of new words by those of the lexicon.
func (r *wordReader) settle(words []int32) {
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
		v.query[i] = asked.number(w)
	}
	lists := l.lists.tenants[tenant]
	var rest []int
	for i, r := range records {
		var ok bool
		if !r.Masked { // what is kept is of the whole
			v.docs[i], ok = l.lists.get(lists, r.ID, r.Position)
		}
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
				r.read(i, records[i])
			}
		}
		mu.Lock()
		defer mu.Unlock()
		readers = append(readers, r)
	})
	return readers
}
