package rank

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/pipeline/model"
	"satchel/pipeline/scope"
	"satchel/pipeline/selection/retrieve"
	"satchel/schemas"
)

// Meanings is what an embedder offers besides [embed.Embedder] when it knows whose cosines those of
// its questions are.
type Meanings interface {
	// Questions embeds for the vectors that a tenant's searches compare at present. They may be others from one
	// call to the next: a request asks once.
	Questions(ctx context.Context, s scope.Scope) model.QuestionForm
}

// WordWeights is what an embedder offers besides [WordVectors] when it knows how much a word tells,
// whatever is stored: about the logarithm of the number of texts to one that has it.
type WordWeights interface {
	WordWeight(word string) float64
	// WordPieces is 1 for a frequent word, and more the less a word is one of its language.
	WordPieces(word string) int
}

const (
	plainWeight = 7. // of a word whose weight is not known
	mostlyRead  = .5 // share of a question that the lexicon must read
)

// noteCoverage notes the share of the question's weight that the words of the items at the places come
// close to. rows has, item by item, the closeness of each content word.
func (p *Pool) noteCoverage(q *Question, at []int32, rows []float32) {
	nq := len(q.content)
	if q.weight == 0 || len(rows) == 0 {
		return
	}
	for j, i := range at {
		sum := 0.
		for w, c := range rows[j*nq : (j+1)*nq] {
			sum += q.weights[w] * float64(c)
		}
		if len(q.names) > 0 {
			text := strings.ToLower(schemas.SearchText(&p.items[i].MemoryItem))
			for _, name := range q.names {
				if strings.Contains(text, name) {
					sum += plainWeight
				}
			}
		}
		p.covered[i] = min(1, sum/q.weight)
	}
}

// coverExactly is cover of equal stems, for scripts and embedders without a lexicon.
func (p *Pool) coverExactly(q *Question, at []int32, remembered func(string) []uint64) {
	var asked []uint64
	for _, w := range q.words {
		asked = append(asked, termsOf(w)...)
	}
	slices.Sort(asked)
	asked = slices.Compact(asked)
	for _, i := range at {
		terms := remembered(schemas.SearchText(&p.items[i].MemoryItem))
		found := 0
		for _, term := range asked {
			if _, has := slices.BinarySearch(terms, term); has {
				found++
			}
		}
		p.covered[i] = float64(found) / float64(max(1, len(asked)))
	}
}

// Terms returns the hashes of the terms of a text, sorted, each once. They are remembered and MUST NOT be changed.
func (r *Ranker) Terms(text string) []uint64 {
	return r.hashes.Of(text, distinctTerms, func() ([]uint64, int) {
		terms := termsOf(text)
		return terms, 8 * cap(terms)
	})
}

// termsOf returns the hashes of the terms of a text, sorted, each once.
func termsOf(text string) []uint64 {
	terms := language.Analyze(text)
	out := make([]uint64, len(terms))
	for i, term := range terms {
		out[i] = language.HashWord(term)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// listJudgedPlaces are the places of the order and then those that its scores need: where a walk over links
// began, what links reached, and what the session's previous pack showed.
func (p *Pool) listJudgedPlaces(order []int32, req *Request) []int32 {
	if len(p.steps)+len(p.from)+len(req.Previous) == 0 {
		return order
	}
	has := make(map[int32]bool, len(order))
	for _, i := range order {
		has[i] = true
	}
	out := slices.Clone(order)
	add := func(i int32) {
		if !has[i] && p.items[i] != nil {
			out = append(out, i)
			has[i] = true
		}
	}
	for _, s := range p.steps {
		add(s.from)
		add(s.at)
	}
	for _, i := range req.Previous {
		add(i)
	}
	return out
}

// judgeItems sets the evidence and the relevance of the items at the places. Where there is neither a
// word nor a vector that could be compared, relevance is that of the order. So it is in a language that the lexicon
// does not read: how many of its terms an item has says little there, as they are not weighed. See byOrder.
func (r *Ranker) judgeItems(p *Pool, q *Question, at []int32) {
	vectors := p.findChannel(retrieve.NameVector)
	encoder := p.findChannel(retrieve.NameEncoder)
	if !q.cosines {
		vectors = nil
	}
	byOrder := p.byOrder(q, at)
	letters := findForeignLetters(q.words)
	odd := q.wordless || p.madeUp(q, at)
	for n, i := range at {
		e := candidate.Evidence{Words: p.covered[i], ByWords: len(q.content) > 0, ByMeaning: vectors != nil && !q.unread}
		if e.ByMeaning {
			e.Cosine = vectors.raw[i]
		}
		both := &r.both
		byMeaning := &r.byMeaning
		e.ByEncoder = e.ByMeaning && encoder != nil && !p.lacking[i]
		if e.ByEncoder {
			e.Encoded = encoder.raw[i]
			both = &r.bothEncoded
			byMeaning = &r.byEncoded
		}
		e.Dated = scoreTimeliness(q, p.items[i], nil)
		for _, n := range p.near[i] {
			e.NearWords = max(e.NearWords, p.covered[n.at])
		}
		p.evidence[i] = e
		switch {
		case byOrder(n, i):
			p.relevant[i] = computeRelevance(p.fused[i])
		case e.ByWords && e.ByMeaning:
			p.relevant[i] = both.computeProbability(&e)
		case e.ByWords:
			p.relevant[i] = r.byWords.computeProbability(&e)
		case e.ByMeaning:
			p.relevant[i] = byMeaning.computeProbability(&e)
		default:
			p.relevant[i] = computeRelevance(p.fused[i])
		}
		switch {
		case q.all && scoreTimeliness(q, p.items[i], r.namedDays(p.items[i], q.zone)) >= 1:
			p.relevant[i] = 1
		case q.all:
			p.relevant[i] = 0
		case e.Dated > 1 || !odd && p.sharesRareWord(i) || odd && (e.Dated >= 1 || p.sharesUncommon(q, i)):
			p.relevant[i] = max(p.relevant[i], spokenFor)
		case odd, q.unread && !byOrder(n, i) && !p.mayBear(q, i, letters):
			p.relevant[i] = 0
		}
	}
}

// Of a question that the lexicon does not read.
const (
	firstByOrder = 5   // items that may bear on it
	sharesTerms  = .25 // of the best keyword score, which takes more than frequent words
)

// byOrder returns a function of the n-th place, whether its relevance is that of the order. If the lexicon does not read
// the question, and any item shares a term with it, that holds for the first few that may bear on it and for those that
// share rare terms. If a model that nobody has measured compared them, it holds for all.
func (p *Pool) byOrder(q *Question, at []int32) func(n int, i int32) bool {
	all := func(yes bool) func(int, int32) bool { return func(int, int32) bool { return yes } }
	if !q.unread {
		return all(false)
	}
	terms := p.covered
	for _, c := range p.channels {
		switch {
		case c.name == retrieve.NameVector && !q.cosines:
			return all(true)
		case c.name == retrieve.NameKeyword:
			terms = c.raw
		}
	}
	best := 0.
	for _, i := range at {
		if p.covered[i] > 0 {
			best = max(best, terms[i])
		}
	}
	if best <= 0 {
		return all(false)
	}
	letters := findForeignLetters(q.words)
	return func(n int, i int32) bool {
		return terms[i] >= sharesTerms*best || n < firstByOrder && p.mayBear(q, i, letters)
	}
}

// mayBear reports whether an item may bear on a question that the lexicon does not read: it shares a term with it, stands
// beside one that does, is of a day that it names, or has one of the letters that are not Latin. Of other items nothing
// tells which come first.
func (p *Pool) mayBear(q *Question, i int32, letters string) bool {
	if letters == "" || p.covered[i] > 0 || scoreTimeliness(q, p.items[i], nil) > 0 {
		return true
	}
	return strings.ContainsAny(schemas.SearchText(&p.items[i].MemoryItem), letters) ||
		slices.ContainsFunc(p.near[i], func(n neighbour) bool { return p.covered[n.at] > 0 })
}

// findForeignLetters returns the letters of words that are not Latin.
func findForeignLetters(ws []string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) || unicode.Is(unicode.Latin, r) {
			return -1
		}
		return r
	}, strings.Join(ws, ""))
}

// Calibration maps evidence to the probability that an item bears on the question: a logistic of
// the sum of the terms.
type Calibration struct {
	Bias, Words, WordsSquared, Cosine, CosineSquared, Product, Encoded, EncodedSquared, Near, Dated float64
}

// Terms returns the terms of a calibration by the names of its fields.
func Terms(e candidate.Evidence) map[string]float64 {
	words := e.Words
	cosine := min(1, max(0, e.Cosine))
	encoded := min(1, max(0, e.Encoded))
	return map[string]float64{"Bias": 1, "Encoded": encoded, "EncodedSquared": encoded * encoded, "Words": words, "WordsSquared": words * words, "Cosine": cosine, "CosineSquared": cosine * cosine,
		"Product": words * cosine, "Near": max(0, e.NearWords-words), "Dated": e.Dated}
}

// computeProbability is the relevance of what the evidence is of.
func (c *Calibration) computeProbability(e *candidate.Evidence) float64 {
	words := e.Words
	cosine := min(1, max(0, e.Cosine))
	encoded := min(1, max(0, e.Encoded))
	sum := c.Bias + encoded*(c.Encoded+c.EncodedSquared*encoded) + words*(c.Words+c.WordsSquared*words) + cosine*(c.Cosine+c.CosineSquared*cosine) + c.Product*words*cosine +
		c.Near*max(0, e.NearWords-words) + c.Dated*e.Dated
	return 1 / (1 + math.Exp(-sum))
}
