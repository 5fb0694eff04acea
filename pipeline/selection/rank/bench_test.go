package rank

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// sparseVectors makes a vector of a word's hash, cheaply.
type sparseVectors struct{}

func (sparseVectors) WordVector(dst []float32, word string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(word))
	sum := h.Sum64()
	dst = dst[:0]
	for i := range 256 {
		dst = append(dst, float32(int8(sum>>(i%57)))/128)
	}
	return dst
}

func (sparseVectors) ReadsWords(string) float64 { return 1 }

// corpus is items of 15–60 words, of which few are common and most are rare.
func corpus(n int) []*candidate.Visible {
	r := rand.New(rand.NewPCG(2, 3))
	zipf := rand.NewZipf(r, 1.15, 4, 60_000)
	out := make([]*candidate.Visible, n)
	for i := range out {
		words := make([]string, 15+r.IntN(46))
		for j := range words {
			words[j] = fmt.Sprintf("w%x", zipf.Uint64()*2654435761)
		}
		out[i] = recordOf(fmt.Sprintf("item-%024d", i), 1, strings.Join(words, " "))
		out[i].Speaker, out[i].CreatedAt = "Ana", time.Unix(int64(i), 0)
		out[i].Facets.Purposes = []string{"support"}
	}
	return out
}

// some returns other records of the corpus for each n.
func some(all []*candidate.Visible, n, count int) []*candidate.Visible {
	out := make([]*candidate.Visible, count)
	for i := range out {
		out[i] = all[(n*count+i)*7919%len(all)]
	}
	return out
}

// BenchmarkWords is the word channel of a request that looks at 200 of 20,000 items or of
// 1,000; new: the words of 130 of them were not read yet.
func BenchmarkWords(b *testing.B) {
	for _, items := range []int{1_000, 20_000} {
		all := corpus(items)
		for _, fresh := range []bool{false, true} {
			b.Run(fmt.Sprintf("items=%d/new=%v", items, fresh), func(b *testing.B) {
				l := newLexicon(sparseVectors{})
				query := []string{"w0", "w13c6ef362", "question", "answer", "deadline", "w9e3779b1"}
				l.lookUpWords("acme", query, all)
				df, n := make([]float64, len(query)), 0
				b.ReportAllocs()
				var look time.Duration
				for b.Loop() {
					best := some(all, n, wordBest)
					if n++; fresh {
						for i := range best[:130] {
							best[i].Position++
						}
					}
					start := time.Now()
					v := l.lookUpWords("acme", query, best)
					look += time.Since(start)
					near, _ := findClosestWords(&v)
					maxSim(&v, near, df, float64(items))
				}
				b.ReportMetric(float64(look.Nanoseconds())/float64(n), "look-ns/op")
			})
		}
	}
}

// BenchmarkCandidates makes the candidates of a request: 266 of 20,000 items or of 1,000.
func BenchmarkCandidates(b *testing.B) {
	for _, items := range []int{1_000, 20_000} {
		b.Run(fmt.Sprintf("items=%d", items), func(b *testing.B) {
			all := corpus(items)
			s := &Ranker{}
			req := &Request{Limit: 300, Now: time.Unix(1e9, 0), Profile: Profiles()[0]}
			verdicts := slices.Repeat([]*schemas.Verdict{{}}, 266)
			var p Pool
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				p.resetPool()
				order := make([]int32, 266)
				for i, r := range some(all, n, len(order)) {
					order[i] = int32(len(p.ids))
					p.ids, p.items = append(p.ids, r.ID), append(p.items, r)
					p.fused, p.cues, p.distance, p.recent = append(p.fused, 1/float64(i+1)), append(p.cues, .1), append(p.distance, -1), append(p.recent, false)
				}
				for _, name := range []string{retrieve.NameKeyword, retrieve.NameVector, NameWords} {
					p.openChannel(name, 1, retrieve.Result{})
				}
				p.Grow()
				n += min(1, len(s.makeCandidates(&p, req, order, verdicts)))
			}
		})
	}
}
