package selection

import (
	"math"

	"satchel/pipeline/store/keyword"
	"satchel/schemas"
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
// used, whose soft document frequency is taken from the records.
func maxSim(v *view, df []float64, n float64) []float64 {
	nq := len(v.query)
	out := make([]float64, len(v.docs))
	if nq == 0 || v.dim == 0 || len(v.docs) == 0 {
		return out
	}
	scratch := takeScratch(len(v.vectors)/v.dim, nq)
	best := make([]float32, len(v.docs)*nq)
	total := 0.0
	for i, d := range v.docs {
		row := best[i*nq : (i+1)*nq]
		for _, w := range d.words {
			for q, c := range scratch.closeness(v, w) {
				if c > row[q] {
					row[q] = c
				}
			}
		}
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

// wordScratch memoises the closeness of a word to every query word.
type wordScratch struct {
	at   []int32 // word → row+1 in sims
	sims []float32
	nq   int
}

func takeScratch(words, nq int) *wordScratch {
	return &wordScratch{at: make([]int32, words), nq: nq, sims: make([]float32, 0, 1024*nq)}
}

func (w *wordScratch) closeness(v *view, word int32) []float32 {
	if at := w.at[word]; at > 0 {
		return w.sims[int(at-1)*w.nq : int(at)*w.nq]
	}
	vec := v.vector(word)
	for _, q := range v.query {
		c := float32(1)
		if q != word {
			c = dot(vec, v.vector(q))
		}
		if c <= closeEnough {
			c = 0
		}
		w.sims = append(w.sims, c)
	}
	at := len(w.sims) / w.nq
	w.at[word] = int32(at)
	return w.sims[(at-1)*w.nq : at*w.nq]
}

func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// contentWords returns the distinct words of the query that are no stop words.
func contentWords(ws []string) []string {
	out := make([]string, 0, len(ws))
	seen := make(map[string]bool, len(ws))
	for _, w := range ws {
		if !seen[w] && !keyword.StopWord(w) && len(out) < 32 {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// records returns those of the pool's indexes.
func (p *pool) records(of []int32) []*schemas.Record {
	out := make([]*schemas.Record, len(of))
	for i, at := range of {
		out[i] = p.record[at]
	}
	return out
}
