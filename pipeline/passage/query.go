package passage

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/language"
	"satchel/pipeline/store/keyword"
)

// group is a word of the question and the words that are close to it. The first term is the
// word's own.
type group struct{ terms []term }

// term is one of them.
type term struct {
	hash   uint64
	text   string
	weight float64
	idf    float64
}

// The bounds of word expansion.
const (
	closest   = .5 // cosine of a word that is taken
	expanded  = 6  // words that are taken
	ofSimilar = .5 // times the square of the cosine: the weight of such a word
)

// analyzer lists terms.
type analyzer struct{ language.Analyzer }

// listDistinctTerms returns the terms of a text, each once.
func (a *analyzer) listDistinctTerms(text string) []string {
	a.Analyze(text)
	var out []string
	for i := range a.Len() {
		if t := string(a.Term(i)); !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// readQuestion reads the question.
func (w *scoring) readQuestion() []group {
	var out []group
	var an analyzer
	seen := map[string]bool{}
	vocabulary := w.buildVocabulary()
	for _, surface := range strings.FieldsFunc(w.query.Text, func(r rune) bool { return !wordRune(r) }) {
		lower := strings.TrimSuffix(strings.ToLower(strings.Trim(surface, "'.-")), "'s")
		if w.reader.cfg.Cues.stop[lower] {
			continue
		}
		for _, t := range an.listDistinctTerms(surface) {
			if seen[t] {
				continue
			}
			seen[t] = true
			g := group{terms: []term{{hash: maphash.String(w.reader.memo.seed, t), text: t, weight: 1}}}
			out = append(out, vocabulary.expandGroup(g, lower))
		}
	}
	return out
}

// wordRune reports whether a rune is of a word as it is written.
func wordRune(r rune) bool {
	return r == '_' || r == '\'' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

// vocabulary is the words of the scored passages.
type vocabulary struct {
	by    Vectors
	words []*word
	rows  []int8
	dots  []int32
}

func (w *scoring) buildVocabulary() *vocabulary {
	v := &vocabulary{by: w.reader.cfg.Vectors}
	if v.by == nil {
		return v
	}
	seen := map[*word]bool{}
	for i := range w.ranking.list {
		p, _ := w.findPassage(i)
		for _, word := range p.words {
			if !seen[word] {
				seen[word] = true
				v.words = append(v.words, word)
			}
		}
	}
	v.rows = make([]int8, 0, dimensions*len(v.words))
	for _, word := range v.words {
		v.rows = append(v.rows, word.vector...)
	}
	v.dots = make([]int32, len(v.words))
	return v
}

// expandGroup adds the words of the vocabulary that are closest to a word.
func (v *vocabulary) expandGroup(g group, surface string) group {
	if len(v.words) == 0 || len(surface) < leastWord || strings.ContainsFunc(surface, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return g
	}
	query, scale := vecmath.QuantiseQuery(v.by.WordVector(nil, surface), dimensions)
	vecmath.Rows(query, v.rows, v.dots)
	type near struct {
		*word
		cosine float64
	}
	var list []near
	for i, word := range v.words {
		if c := float64(v.dots[i]) * scale * float64(word.scale); c >= closest && word.term != g.terms[0].hash {
			list = append(list, near{word, c})
		}
	}
	slices.SortFunc(list, func(a, b near) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.text, b.text)) })
	for _, n := range list {
		if slices.ContainsFunc(g.terms, func(t term) bool { return t.hash == n.term }) {
			continue
		}
		g.terms = append(g.terms, term{hash: n.term, text: n.text, weight: ofSimilar * n.cosine * n.cosine})
		if len(g.terms) > expanded {
			break
		}
	}
	return g
}

// termsAtOnce is how many terms an index is asked about at once.
const termsAtOnce = 200

// alone is the score of a text of one term, in its idf: BM25 of one among very few terms.
const alone = (k1 + 1) / (1 + k1*(1-b))

// weighTerms sets how rare the terms are: as the index says, and where it cannot, as the passages do.
func (w *scoring) weighTerms(groups []group) {
	known := map[uint64]float64{}
	var ask []string
	var an analyzer
	for g := range groups {
		for _, t := range groups[g].terms {
			if got := an.listDistinctTerms(t.text); len(got) == 1 && got[0] == t.text { // what the index reads as this term
				ask = append(ask, t.text)
			}
		}
	}
	if index := w.reader.cfg.Frequencies; index != nil {
		for part := range slices.Chunk(ask, termsAtOnce) {
			scores, err := index.ScoreTexts(w.ctx, w.scope, keyword.Query{
				Text: strings.Join(part, " "), Limit: 1, Filter: w.query.Filter, Population: w.query.Population.Settled(),
			}, part)
			for i := range scores {
				if err == nil && scores[i] > 0 {
					known[maphash.String(w.reader.memo.seed, part[i])] = scores[i] / alone
				}
			}
		}
	}
	for g := range groups {
		for i := range groups[g].terms {
			t := &groups[g].terms[i]
			if idf, ok := known[t.hash]; ok {
				t.idf = idf
				continue
			}
			n := float64(w.countHolders(t.hash))
			t.idf = math.Log(1 + (sample-n+.5)/(n+.5))
		}
	}
}

// sample is for how many items the scored ones are taken where no index says more.
const sample = 10 * units
