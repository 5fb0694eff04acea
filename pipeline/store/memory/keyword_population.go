package memory

import (
	"maps"
	"math"
	"slices"

	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// population is the documents that statistics are of.
type population struct {
	docs     int
	totalLen int64
	masks    []uint8  // by profile; nil: every live document
	without  []uint32 // sorted
}

// findPopulation returns the documents that pass a filter, but for some.
func (s *keywordState) findPopulation(f schemas.Filter, without []uint32) population {
	p := population{masks: s.Facets.Masks([]schemas.Filter{f}), without: without}
	for prof, n := range s.Live {
		if p.masks[prof] != 0 {
			p.docs += int(n)
			p.totalLen += s.lengths[prof]
		}
	}
	if p.docs == s.Docs {
		p.masks = nil
	}
	for _, doc := range without {
		if p.hasProfile(s.profiles[doc]) {
			p.docs--
			p.totalLen -= int64(s.lens[doc])
		}
	}
	return p
}

// hasProfile reports whether documents of a profile are in the population.
func (p *population) hasProfile(prof uint32) bool {
	return prof != keywordGone && (p.masks == nil || p.masks[prof] != 0)
}

// weighTerm is BM25's weight of a term that df documents have; one that none has counts as if one had it.
func (p *population) weighTerm(df uint32) float64 {
	n := max(float64(df), 1)
	return math.Log(1 + (max(float64(p.docs), n)-n+.5)/(n+.5))
}

// computeMeanLength is the mean length of the documents.
func (p *population) computeMeanLength() float64 {
	if p.docs == 0 {
		return keyword.TypicalLength
	}
	return max(float64(p.totalLen)/float64(p.docs), 1)
}

// countTermDocuments returns how many documents of the population have a term.
func (s *keywordState) countTermDocuments(term uint32, p *population) uint32 {
	df := s.postings[term].df
	if df == 0 || p.masks == nil && len(p.without) == 0 {
		return df
	}
	if p.masks == nil {
		for _, doc := range p.without {
			if s.hasDocumentTerm(doc, term) {
				df--
			}
		}
		return df
	}
	df = 0
	r := s.chunks.newCursor(&s.postings[term])
	doc := r.doc
	for s.chunks.advanceCursor(&r) {
		b := r.entries
		for i := 0; i < len(b) && b[i] != 0; {
			v := uint32(b[i])
			i++
			if v >= 0x80 {
				var rest uint32
				rest, i = readUvarintRest(b, i)
				v = v&0x7f | rest<<7
			}
			if v&1 == 1 {
				_, i = readUvarintRest(b, i)
			}
			doc += v >> 1
			if p.hasProfile(s.profiles[doc]) && !passedOver(p.without, doc) {
				df++
			}
		}
	}
	return df
}

// hasDocumentTerm reports whether a live document has a term.
func (s *keywordState) hasDocumentTerm(doc, term uint32) bool {
	if s.profiles[doc] == keywordGone {
		return false
	}
	var buf [128]count
	return slices.ContainsFunc(s.forward.appendStoredCounts(buf[:0], s.refs[doc]), func(c count) bool { return c.term == term })
}

// numbersOf returns the live documents with ids, sorted.
func (s *keywordState) numbersOf(ids []string) []uint32 {
	if len(ids) == 0 {
		return nil
	}
	docs := make([]uint32, len(ids))
	s.IDs.LookupAll(ids, docs)
	docs = slices.DeleteFunc(docs, func(doc uint32) bool { return doc == keywordGone || s.profiles[doc] == keywordGone })
	slices.Sort(docs)
	return slices.Compact(docs)
}

func passedOver(without []uint32, doc uint32) bool {
	if len(without) == 0 {
		return false
	}
	_, found := slices.BinarySearch(without, doc)
	return found
}

// findUnseenTerms returns the query's terms that no document of the population has, with their weights:
// those of a term that one document has, which is the text that is scored.
func (s *keywordState) findUnseenTerms(p *plan, q *keyword.Query, sc *scratch) map[string]float64 {
	pop := s.findPopulation(q.Population, p.without)
	weights := map[string]float64{}
	sc.analyzer.Analyze(q.Text)
	for i := range sc.analyzer.Len() {
		term := sc.analyzer.Term(i)
		if t, ok := s.terms.findTerm(term); !ok || s.countTermDocuments(t, &pop) == 0 {
			weights[string(term)] += pop.weighTerm(1)
		}
	}
	return weights
}

// scoreText returns the score that a plan and the terms unseen give to a document of a text.
func (s *keywordState) scoreText(p *plan, unseen map[string]float64, text string, sc *scratch) float64 {
	sc.analyzer.Analyze(text)
	length := uint32(sc.analyzer.Len())
	times := map[uint32]uint32{}
	novel := map[string]uint32{}
	for i := range sc.analyzer.Len() {
		term := sc.analyzer.Term(i)
		if t, ok := s.terms.findTerm(term); ok {
			times[t]++
		}
		if unseen[string(term)] > 0 {
			novel[string(term)]++
		}
	}
	total := 0.0
	for _, t := range p.terms {
		if tf := times[t.term]; tf > 0 && t.df > 0 {
			total += float64(t.weight * p.computeSaturation(tf, length))
		}
	}
	for _, term := range slices.Sorted(maps.Keys(novel)) {
		total += float64(unseen[term] * p.computeSaturation(novel[term], length))
	}
	return total
}
