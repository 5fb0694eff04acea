package pack

import (
	"slices"
	"strings"
	"unicode"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// Limits of the TL;DR.
const (
	tldrItems   = 12 // best shown items it reads
	tldrPerItem = 6  // sentences read of each
	longest     = 320
	shortest    = 12
)

// What a sentence of the TL;DR is chosen by, beside the score of its item.
const (
	coverWeight  = .35 // of the share of the question's words that no sentence before has
	repeatWeight = .3  // of the share of its words that the sentences before have
	sameWeight   = .15 // when its item is cited already
)

// redactedMark is how what stands in the place of something redacted begins.
const redactedMark = "[redacted"

// sentence is one that may be in a TL;DR.
type sentence struct {
	place, item int
	text        string
	score       float64
	words       map[string]bool
}

// summarise picks the sentences that say most about the query and least that was said,
// and cites the item of each. Sentences are taken word for word from what is shown, and
// put in the order of the pack.
func (b *Builder) summarise(req *Request, cs []candidate.Candidate, shown []int) schemas.TLDR {
	out := schemas.TLDR{Citations: []string{}, Sentences: []schemas.TLDRSentence{}}
	if b.sentences < 0 || len(shown) == 0 {
		return out
	}
	chosen := pick(readable(cs, shown), wordsOf(req.Query), b.sentences)
	slices.SortStableFunc(chosen, func(x, y sentence) int { return x.place - y.place })
	texts := make([]string, len(chosen))
	for i, s := range chosen {
		id := cs[s.item].Record.ID
		texts[i] = s.text
		out.Citations = append(out.Citations, id)
		out.Sentences = append(out.Sentences, schemas.TLDRSentence{Text: s.text, Citations: []string{id}})
	}
	out.Summary = strings.Join(texts, " ")
	return out
}

// readable are the sentences of the best shown items that can be quoted. The place
// keeps sentences of one item in their order.
func readable(cs []candidate.Candidate, shown []int) []sentence {
	best := slices.Clone(shown)
	slices.Sort(best) // candidates are in the order of their scores
	var out []sentence
	for _, i := range best[:min(tldrItems, len(best))] {
		n := 0
		for text := range Sentences(sayable(&cs[i])) {
			text = strings.TrimPrefix(text, "\\")
			question := strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
			if len(text) < shortest || len(text) > longest || question || strings.Contains(text, redactedMark) {
				continue
			}
			out = append(out, sentence{slices.Index(shown, i)*tldrPerItem + n, i, text, cs[i].Score, wordsOf(text)})
			if n++; n >= tldrPerItem {
				break
			}
		}
	}
	return out
}

// pick takes at most n sentences, each the best beside those taken before.
func pick(from []sentence, wanted map[string]bool, n int) []sentence {
	var chosen []sentence
	said, cited := map[string]bool{}, map[int]bool{}
	for len(chosen) < n {
		best, value := -1, 0.0
		for i := range from {
			s := &from[i]
			if s.words == nil {
				continue
			}
			v := s.score + coverWeight*share(wanted, func(w string) bool { return s.words[w] && !said[w] }) -
				repeatWeight*share(s.words, func(w string) bool { return said[w] })
			if cited[s.item] {
				v -= sameWeight
			}
			if best < 0 || v > value {
				best, value = i, v
			}
		}
		if best < 0 {
			break
		}
		s := from[best]
		from[best].words = nil
		if slices.ContainsFunc(chosen, func(c sentence) bool { return c.text == s.text }) {
			continue
		}
		chosen = append(chosen, s)
		cited[s.item] = true
		for w := range s.words {
			said[w] = true
		}
	}
	return chosen
}

// share is the part of the words for which is holds.
func share(words map[string]bool, is func(string) bool) float64 {
	if len(words) == 0 {
		return 0
	}
	n := 0
	for w := range words {
		if is(w) {
			n++
		}
	}
	return float64(n) / float64(len(words))
}

// sayable is the text of an item that can be quoted: not JSON, not code, not a
// reference to what was shown before, and nothing that may carry instructions.
func sayable(c *candidate.Candidate) string {
	if c.Record.Content.Raw() != nil || c.Record.Kind == schemas.KindCode || c.Suspect || c.Referred {
		return ""
	}
	text := sanitise(c.Record.Content.Text())
	if c.Extract != nil { // what stands on both sides of a gap is not one sentence
		text = strings.ReplaceAll(text, candidate.Ellipsis, "\n")
	}
	return text
}

// wordsOf are the words of a text that carry its meaning: of four letters or more, a
// number, or in a script whose words are short.
func wordsOf(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > 3 || w[0] >= '0' && w[0] <= '9' {
			out[w] = true
		}
	}
	return out
}
