package pack

import (
	"hash/maphash"
	"slices"
	"strings"
	"unicode"

	"satchel/pipeline/candidate"
	"satchel/pipeline/fill"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// Limits of the TL;DR.
const (
	tldrItems   = 12 // best shown items it reads
	tldrPerItem = 6  // sentences read of each
	longest     = 320
	shortest    = 12
)

// What a sentence of the TL;DR is chosen by, beside the standing of its item.
const (
	coverWeight  = .35 // of the share of the question's words that no sentence before has
	repeatWeight = .3  // of the share of its words that the sentences before have
	sameWeight   = .15 // when its item is cited already

	leastWorth   = .5 // of the worth of the best sentence, at least
	relevantItem = .5 // that an item bears which is quoted though the query has none of its words
)

// redactedMark begins the text in the place of something redacted.
const redactedMark = "[redacted"

// sentence is one that may be in a TL;DR.
type sentence struct {
	item   int
	text   string
	score  float64  // by which its item was chosen
	sure   bool     // its item is quoted though the sentence has no word of the query
	words  []uint64 // hashes of its terms, each once
	wanted int      // the first of them that the query has
}

// summariseItems picks the sentences that say most about the query and least that was said, and
// cites the item of each. Sentences are taken word for word from what is shown, but for what looks like a citation of the
// pack. They are in the order in which they were picked, so the one that answers best comes first. What hardly answers is not quoted.
func (b *Builder) summariseItems(req *Request, cs []candidate.Candidate, shown []int) schemas.TLDR {
	out := schemas.TLDR{Citations: []string{}, Sentences: []schemas.TLDRSentence{}}
	if b.sentences < 0 || len(shown) == 0 || req.Doubtful {
		return out
	}
	words := newVocabulary(req.Query)
	shown = slices.DeleteFunc(slices.Clone(shown), func(i int) bool { return cs[i].Newer != "" }) // its newest is read
	chosen := pickSentences(words.keepRelevantSentences(words.collectSentences(cs, shown)), words, b.sentences)
	texts := make([]string, len(chosen))
	for i, s := range chosen {
		id := cs[s.item].ID
		texts[i] = language.Unreferenced(s.text)
		out.Citations = append(out.Citations, id)
		out.Sentences = append(out.Sentences, schemas.TLDRSentence{Text: texts[i], Citations: []string{id}})
	}
	out.Summary = language.Unreferenced(strings.Join(texts, " "))
	return out
}

// collectSentences are the sentences of the best shown items that can be quoted, best item first.
func (v *vocabulary) collectSentences(cs []candidate.Candidate, shown []int) []sentence {
	best := slices.Clone(shown)
	slices.Sort(best) // candidates are in the order of their scores
	var out []sentence
	for _, i := range best[:min(tldrItems, len(best))] {
		n := 0
		for text := range Sentences(readQuotableText(&cs[i])) {
			if bare := strings.TrimPrefix(text, "\\"); !isRemark(language.Visible(bare)) && !isPlace(language.Visible(bare)) {
				text = bare
			}
			question := strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
			fits := len(text) >= shortest && len(text) <= longest
			if !fits || question || strings.Contains(text, redactedMark) {
				continue
			}
			s := sentence{item: i, text: text, score: cs[i].Standing, sure: findRelevance(&cs[i]) >= relevantItem}
			s.words, s.wanted = v.readTerms(text)
			out = append(out, s)
			n++
			if n >= tldrPerItem {
				break
			}
		}
	}
	return out
}

// keepRelevantSentences leaves out the sentences that say far less about the query than the best one, and
// those that have no word of it, unless their item is relevant and has no sentence that does.
func (v *vocabulary) keepRelevantSentences(from []sentence) []sentence {
	best := 0.0
	quoted := map[int]bool{}
	for i := range from {
		best = max(best, v.scoreSentence(&from[i]))
		if from[i].wanted > 0 {
			quoted[from[i].item] = true
		}
	}
	return slices.DeleteFunc(from, func(s sentence) bool {
		beside := len(v.query) > 0 && s.wanted == 0 && (!s.sure || quoted[s.item])
		return beside || v.scoreSentence(&s) < leastWorth*best
	})
}

// scoreSentence is what a sentence says about the query, whatever else is said.
func (v *vocabulary) scoreSentence(s *sentence) float64 {
	return s.score + coverWeight*computeShare(s.wanted, len(v.query))
}

// pickSentences takes at most n sentences, each the best beside those taken before.
func pickSentences(from []sentence, words *vocabulary, n int) []sentence {
	var chosen []sentence
	said := map[uint64]bool{}
	cited := map[int]bool{}
	shelf := fill.Shelf{
		Value: func(i int) float64 {
			s := &from[i]
			known := countSaid(s.words[:s.wanted], said)
			v := s.score + coverWeight*computeShare(s.wanted-known, len(words.query)) -
				repeatWeight*computeShare(known+countSaid(s.words[s.wanted:], said), len(s.words))
			if cited[s.item] {
				v -= sameWeight
			}
			return v
		},
		Take: func(i int, _ float64) ([]int, bool) {
			s := from[i]
			repeats := slices.ContainsFunc(chosen, func(c sentence) bool { return c.text == s.text })
			if len(chosen) < n && !repeats {
				chosen = append(chosen, s)
				cited[s.item] = true
				for _, w := range s.words {
					said[w] = true
				}
			}
			return nil, len(chosen) >= n
		},
	}
	shelf.Fill(fill.All(len(from)))
	return chosen
}

// countSaid is how many of the words were said.
func countSaid(list []uint64, said map[uint64]bool) int {
	n := 0
	for _, w := range list {
		if said[w] {
			n++
		}
	}
	return n
}

func computeShare(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// readQuotableText is the text of an item that can be quoted: not JSON, not code, not a
// reference to what was shown before, and nothing that may carry instructions.
func readQuotableText(c *candidate.Candidate) string {
	isProse := c.Content.Raw() == nil && c.Kind != schemas.KindCode
	if !isProse || c.Fenced() || c.Abbreviated {
		return ""
	}
	text := sanitiseText(c.Content.Text())
	text = Opening(c, text) + text
	if c.Author != "" {
		text = schemas.WrittenBy("", makeLabel(c.Author)) + " " + text
	}
	if c.Extract != nil { // the texts on both sides of a gap are not one sentence
		text = strings.ReplaceAll(text, candidate.Ellipsis, "\n")
	}
	return text
}

// vocabulary has the terms of a query, as the keyword index reads them.
type vocabulary struct {
	seed   maphash.Seed
	query  map[uint64]bool // by hash, whether a term counts where no other is there: those of names do not, unless all are
	reader language.Analyzer
}

func newVocabulary(query string) *vocabulary {
	v := &vocabulary{seed: maphash.MakeSeed(), query: map[uint64]bool{}}
	others := v.reader.Hashes(v.seed, withoutNames(query))
	for _, w := range v.reader.Hashes(v.seed, query) {
		v.query[w] = len(others) == 0 || slices.Contains(others, w)
	}
	return v
}

// withoutNames is a question without the words that are written as names within it.
func withoutNames(query string) string {
	words := strings.Fields(query)
	for i, w := range words {
		r := []rune(w)
		isName := len(r) > 1 && unicode.IsUpper(r[0]) && unicode.IsLower(r[1])
		if i > 0 && isName {
			words[i] = ""
		}
	}
	return strings.Join(words, " ")
}

// readTerms returns the terms of a text, each once, first those of the query, and how many
// these are.
func (v *vocabulary) readTerms(text string) (all []uint64, wanted int) {
	all = v.reader.Hashes(v.seed, text)
	counts := false
	for i, w := range all {
		if alone, asked := v.query[w]; asked {
			all[i] = all[wanted]
			all[wanted] = w
			wanted++
			counts = counts || alone
		}
	}
	if !counts {
		return all, 0
	}
	return all, wanted
}
