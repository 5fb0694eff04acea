package rank

import (
	"iter"
	"math"
	"slices"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/parallel"
	"satchel/pipeline/infra/vecmath"
)

// NameWords is the channel of word-level closeness, as evidence gives it.
const NameWords = "words"

// closeEnough is the cosine of two words under which they say nothing of each other.
const closeEnough = .35

// maxSim scores records by the closeness of their words to the query's:
//
//	M = Σ_q idf(q) · max_d relu_.35(cos(q, d)) · 2.2/(1 + 1.2(.75 + .25·len/avg))
//
// df is the number of documents that hold each query word, of n; 0 for a word nobody
// used, whose soft document frequency is taken from the records. best are the records' rows of
// closest.
func maxSim(v *view, best []float32, df []float64, n float64) []float64 {
	nq := len(v.query)
	out := make([]float64, len(v.docs))
	if len(best) == 0 {
		return out
	}
	total := 0.0
	for _, d := range v.docs {
		total += float64(d.length)
	}
	idf := softIDF(best, df, n, nq)
	average := max(1, total/float64(len(v.docs)))
	for i, d := range v.docs {
		sum := 0.0
		for q, c := range best[i*nq : (i+1)*nq] {
			sum += idf[q] * float64(c)
		}
		out[i] = sum * 2.2 / (1 + 1.2*(.75+.25*float64(d.length)/average))
	}
	return out
}

// findClosestWords returns, by record and then by query word, how close the record's closest word is, and by record which words of
// the query it has, stem for stem: bit q for word q. A query has at most words.Most.
func findClosestWords(v *view) (best []float32, equal []uint32) {
	nq := len(v.query)
	if nq == 0 || v.stride == 0 || len(v.docs) == 0 {
		return nil, nil
	}
	best = make([]float32, len(v.docs)*nq)
	equal = make([]uint32, len(v.docs))
	parallel.Parts(len(v.docs), docsPart, func(parts iter.Seq2[int, int]) {
		close := v.takeScratch()
		defer v.returnScratch(close)
		close.resetForView(v)
		for from, to := range parts {
			close.compareNewWords(v, v.docs[from:to])
			for i := from; i < to; i++ {
				equal[i] = close.fillCloseness(best[i*nq:(i+1)*nq], v.docs[i])
			}
		}
	})
	return best, equal
}

// softIDF is BM25's idf; a word nobody used counts the records by how close they come.
func softIDF(best []float32, df []float64, n float64, nq int) []float64 {
	idf := make([]float64, nq)
	for q := range nq {
		f := df[q]
		if f <= 0 {
			for i := q; i < len(best); i += nq {
				f += float64(best[i])
			}
			f = min(f, n)
		}
		idf[q] = math.Log(1 + (n-f+.5)/(f+.5))
	}
	return idf
}

// docsPart is how many records a processor compares before it takes more.
const docsPart = 25

// wordCloseness holds how close words are to every query word. It is used again from
// query to query.
type wordCloseness struct {
	at    []int32   // word → place in sims, from 1; distant for one close to none, 0 for one of no record
	words []int32   // of the records
	sims  []float32 // by place, then query word
	equal []uint32  // by place: bit q where the word has the stem of query word q
	nq    int

	rows  [wordBlock * 512]int8
	query []int16
	dots  [wordBlock]int32
}

// distant is the place of a word that is close to no word of the query.
const distant = -1

// wordBlock is how many rows are gathered for the kernel, so that they stay in the
// processor's first cache.
const wordBlock = 32

// findClosenessRow is the closeness of the word at a place to each word of the query.
func (c *wordCloseness) findClosenessRow(at int32) []float32 {
	return c.sims[int(at-1)*c.nq : int(at)*c.nq]
}

// fillCloseness sets row to how close the words of a record come to each word of the query, and returns which of these it has.
func (c *wordCloseness) fillCloseness(row []float32, d doc) (equal uint32) {
	clear(row)
	for _, w := range d.words {
		if at := c.at[w]; at > 0 {
			equal |= c.equal[at-1]
			for q, cos := range c.findClosenessRow(at) {
				row[q] = max(row[q], cos)
			}
		}
	}
	return equal
}

// noteCloseness notes that a word is close to a word of the query.
func (c *wordCloseness) noteCloseness(word int32, q int, cos float32) {
	c.findClosenessRow(c.placeWord(word))[q] = cos
}

// placeWord returns where a word stands that says something of the query.
func (c *wordCloseness) placeWord(word int32) int32 {
	at := c.at[word]
	if at == distant {
		n := len(c.sims)
		c.sims = slices.Grow(c.sims, c.nq)[:n+c.nq]
		clear(c.sims[n:])
		c.equal = append(c.equal, 0)
		at = int32(len(c.sims) / c.nq)
		c.at[word] = at
	}
	return at
}

// resetForView empties c for a view.
func (c *wordCloseness) resetForView(v *view) {
	for _, w := range c.words {
		c.at[w] = 0
	}
	c.words = c.words[:0]
	c.sims = c.sims[:0]
	c.equal = c.equal[:0]
	c.nq = len(v.query)
	if n := len(v.scales); n > len(c.at) {
		c.at = make([]int32, n+n/4)
	}
	c.query = makeZeros(c.query, c.nq*v.stride)
	for q, qw := range v.query {
		for i, x := range v.findWordRow(qw) {
			c.query[q*v.stride+i] = int16(x)
		}
	}
}

// compareNewWords compares each word of the records that it was not given since reset with each word
// of the query.
func (c *wordCloseness) compareNewWords(v *view, docs []doc) {
	known := len(c.words)
	for _, d := range docs {
		for _, w := range d.words {
			if c.at[w] == 0 {
				c.words = append(c.words, w)
				c.at[w] = distant
			}
		}
	}
	block := max(4, min(wordBlock, len(c.rows)/v.stride&^3))
	rows := c.rows[:]
	if len(rows) < block*v.stride {
		rows = make([]int8, block*v.stride)
	}
	for from := known; from < len(c.words); from += block {
		c.compareWords(v, c.words[from:min(from+block, len(c.words))], rows)
	}
}

// compareWords compares words, gathered in rows, with each word of the query.
func (c *wordCloseness) compareWords(v *view, words []int32, rows []int8) {
	for i, w := range words {
		copy(rows[i*v.stride:], v.findWordRow(w))
	}
	padded := (len(words) + 3) &^ 3 // the kernel takes four at a time
	for q, qw := range v.query {
		vecmath.Rows(c.query[q*v.stride:(q+1)*v.stride], rows[:padded*v.stride], c.dots[:padded])
		for i, w := range words {
			cos := float32(c.dots[i]) * v.scales[qw] * v.scales[w]
			if w == qw {
				cos = 1
			}
			if cos > closeEnough {
				c.noteCloseness(w, q, cos)
			}
			if v.stems[w] == v.stems[qw] {
				c.equal[c.placeWord(w)-1] |= 1 << q
			}
		}
	}
}

// makeZeros returns n zeros, in s where they fit.
func makeZeros[T any](s []T, n int) []T {
	if n > cap(s) {
		return make([]T, n, n+n/4)
	}
	s = s[:n]
	clear(s)
	return s
}

// itemsAt returns those of the pool's indexes.
func (p *Pool) itemsAt(of []int32) []*candidate.Visible {
	out := make([]*candidate.Visible, len(of))
	for i, at := range of {
		out[i] = p.items[at]
	}
	return out
}
