package pack

import (
	"slices"
	"strings"
	"unicode"

	"satchel/pipeline/candidate"
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

// redactedMark is how what stands in the place of something redacted begins.
const redactedMark = "[redacted"

// sentence is one that may be in a TL;DR.
type sentence struct {
	item   int
	text   string
	score  float64 // by which its item was chosen
	sure   bool    // its item is quoted though the sentence has no word of the query
	words  []int32 // by number, each once
	wanted int     // the first of them that the query has
}

// summarise picks the sentences that say most about the query and least that was said, and
// cites the item of each. Sentences are taken word for word from what is shown, but for what looks like a citation of the
// pack. They stand in the order in which they were picked, so the one that answers best comes first. What hardly answers is not quoted.
func (b *Builder) summarise(req *Request, cs []candidate.Candidate, shown []int) schemas.TLDR {
	out := schemas.TLDR{Citations: []string{}, Sentences: []schemas.TLDRSentence{}}
	if b.sentences < 0 || len(shown) == 0 || req.Doubtful {
		return out
	}
	words := newVocabulary(req.Query)
	shown = slices.DeleteFunc(slices.Clone(shown), func(i int) bool { return cs[i].Newer != "" }) // its newest is read
	chosen := pick(words.relevant(words.readable(cs, shown)), words, b.sentences)
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

// readable are the sentences of the best shown items that can be quoted, best item first.
func (v *vocabulary) readable(cs []candidate.Candidate, shown []int) []sentence {
	best := slices.Clone(shown)
	slices.Sort(best) // candidates are in the order of their scores
	var out []sentence
	for _, i := range best[:min(tldrItems, len(best))] {
		n := 0
		for text := range Sentences(sayable(&cs[i])) {
			if bare := strings.TrimPrefix(text, "\\"); !remarked(language.Visible(bare)) && !isPlace(language.Visible(bare)) {
				text = bare
			}
			question := strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
			if len(text) < shortest || len(text) > longest || question || strings.Contains(text, redactedMark) {
				continue
			}
			s := sentence{item: i, text: text, score: cs[i].Standing, sure: bears(&cs[i]) >= relevantItem}
			s.words, s.wanted = v.of(text)
			out = append(out, s)
			if n++; n >= tldrPerItem {
				break
			}
		}
	}
	return out
}

// relevant leaves out the sentences that say far less about the query than the best one, and
// those that have no word of it, unless their item is relevant and has no sentence that does.
func (v *vocabulary) relevant(from []sentence) []sentence {
	best, quoted := 0.0, map[int]bool{}
	for i := range from {
		best = max(best, v.worth(&from[i]))
		if from[i].wanted > 0 {
			quoted[from[i].item] = true
		}
	}
	return slices.DeleteFunc(from, func(s sentence) bool {
		beside := v.wanted > 0 && s.wanted == 0 && (!s.sure || quoted[s.item])
		return beside || v.worth(&s) < leastWorth*best
	})
}

// worth is what a sentence says about the query, whatever else is said.
func (v *vocabulary) worth(s *sentence) float64 {
	return s.score + coverWeight*share(s.wanted, v.wanted)
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
	if c.Content.Raw() != nil || c.Kind == schemas.KindCode || c.Fenced() || c.Abbreviated {
		return ""
	}
	text := sanitise(c.Content.Text())
	text = Opening(c, text) + text
	if c.Author != "" {
		text = schemas.WrittenBy("", label(c.Author)) + " " + text
	}
	if c.Extract != nil { // what stands on both sides of a gap is not one sentence
		text = strings.ReplaceAll(text, candidate.Ellipsis, "\n")
	}
	return text
}

// vocabulary numbers the terms of texts, as the keyword index reads them. The first numbers are
// the query's.
type vocabulary struct {
	numbers map[string]int32
	wanted  int   // terms of the query
	names   int   // of them, the last, those of names: none counts where no other is there; 0: all are
	seen    []int // by number, the last text with it
	texts   int
	list    []int32
	reader  language.Analyzer
}

func newVocabulary(query string) *vocabulary {
	v := &vocabulary{numbers: make(map[string]int32, 256), list: make([]int32, 0, 512)}
	others, _ := v.of(withoutNames(query))
	v.of(query)
	v.wanted = len(v.seen)
	if len(others) > 0 {
		v.names = v.wanted - len(others)
	}
	return v
}

// withoutNames is a question without the words that are written as names within it.
func withoutNames(query string) string {
	words := strings.Fields(query)
	for i, w := range words {
		if r := []rune(w); i > 0 && len(r) > 1 && unicode.IsUpper(r[0]) && unicode.IsLower(r[1]) {
			words[i] = ""
		}
	}
	return strings.Join(words, " ")
}

// of returns the terms of a text, each once, first those of the query, and how many
// these are.
func (v *vocabulary) of(text string) (all []int32, wanted int) {
	v.texts++
	from := len(v.list)
	v.reader.Analyze(text)
	for i := range v.reader.Len() {
		v.add(v.reader.Term(i))
	}
	all = slices.Clip(v.list[from:])
	bare := true
	for i, w := range all {
		if int(w) < v.wanted {
			all[i], all[wanted] = all[wanted], w
			wanted++
			bare = bare && int(w) >= v.wanted-v.names
		}
	}
	if bare {
		return all, 0
	}
	return all, wanted
}

// add puts a term into the list, unless it is there from the same text.
func (v *vocabulary) add(term []byte) {
	number, ok := v.numbers[string(term)]
	if !ok {
		number = int32(len(v.seen))
		v.numbers[string(term)] = number
		v.seen = append(v.seen, 0)
	}
	if v.seen[number] != v.texts {
		v.seen[number] = v.texts
		v.list = append(v.list, number)
	}
}
