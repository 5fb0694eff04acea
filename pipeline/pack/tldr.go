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
	words       []int32 // by number, each once
	wanted      int     // the first of them that the query has
}

// summarise picks the sentences that say most about the query and least that was said,
// and cites the item of each. Sentences are taken word for word from what is shown, and
// put in the order of the pack.
func (b *Builder) summarise(req *Request, cs []candidate.Candidate, shown []int) schemas.TLDR {
	out := schemas.TLDR{Citations: []string{}, Sentences: []schemas.TLDRSentence{}}
	if b.sentences < 0 || len(shown) == 0 {
		return out
	}
	words := newVocabulary(req.Query)
	chosen := pick(words.readable(cs, shown), words, b.sentences)
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
func (v *vocabulary) readable(cs []candidate.Candidate, shown []int) []sentence {
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
			s := sentence{place: slices.Index(shown, i)*tldrPerItem + n, item: i, text: text, score: cs[i].Score}
			s.words, s.wanted = v.of(text)
			out = append(out, s)
			if n++; n >= tldrPerItem {
				break
			}
		}
	}
	return out
}

// pick takes at most n sentences, each the best beside those taken before.
func pick(from []sentence, words *vocabulary, n int) []sentence {
	var chosen []sentence
	said, gone, cited := make([]bool, len(words.seen)), make([]bool, len(from)), map[int]bool{}
	for len(chosen) < n {
		best, value := -1, 0.0
		for i := range from {
			s := &from[i]
			if gone[i] {
				continue
			}
			known := heard(s.words[:s.wanted], said)
			v := s.score + coverWeight*share(s.wanted-known, words.wanted) -
				repeatWeight*share(known+heard(s.words[s.wanted:], said), len(s.words))
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
		gone[best] = true
		if slices.ContainsFunc(chosen, func(c sentence) bool { return c.text == s.text }) {
			continue
		}
		chosen = append(chosen, s)
		cited[s.item] = true
		for _, w := range s.words {
			said[w] = true
		}
	}
	return chosen
}

// heard is how many of the words were said.
func heard(list []int32, said []bool) int {
	n := 0
	for _, w := range list {
		if said[w] {
			n++
		}
	}
	return n
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
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

// vocabulary numbers the words of texts that carry their meaning: of four letters or more, a
// number, or in a script whose words are short. The first numbers are the query's.
type vocabulary struct {
	numbers map[string]int32
	wanted  int   // words of the query
	seen    []int // by number, the last text with it
	texts   int
	list    []int32
}

func newVocabulary(query string) *vocabulary {
	v := &vocabulary{numbers: make(map[string]int32, 256), list: make([]int32, 0, 512)}
	all, _ := v.of(query)
	v.wanted = len(all)
	return v
}

// of returns the words of a text, each once, first those of the query, and how many
// these are.
func (v *vocabulary) of(text string) (all []int32, wanted int) {
	v.texts++
	from := len(v.list)
	text = strings.ToLower(text)
	start := -1
	for i, r := range text {
		switch in := unicode.IsLetter(r) || unicode.IsDigit(r); {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			v.add(text[start:i])
			start = -1
		}
	}
	if start >= 0 {
		v.add(text[start:])
	}
	all = slices.Clip(v.list[from:])
	for i, w := range all {
		if int(w) < v.wanted {
			all[i], all[wanted] = all[wanted], w
			wanted++
		}
	}
	return all, wanted
}

// add puts a word into the list, unless it is there from the same text.
func (v *vocabulary) add(w string) {
	if len(w) <= 3 && (w[0] < '0' || w[0] > '9') {
		return
	}
	number, ok := v.numbers[w]
	if !ok {
		number = int32(len(v.seen))
		v.numbers[w] = number
		v.seen = append(v.seen, 0)
	}
	if v.seen[number] != v.texts {
		v.seen[number] = v.texts
		v.list = append(v.list, number)
	}
}
