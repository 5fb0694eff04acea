package pack

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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

// summarise picks the sentences that say most about the query, each from another item
// while there are enough, and cites the item of each. Sentences are taken word for
// word from what is shown, and put in the order of the pack.
func (b *Builder) summarise(req *Request, cs []candidate.Candidate, shown []int) schemas.TLDR {
	out := schemas.TLDR{Citations: []string{}}
	if b.sentences < 0 || len(shown) == 0 {
		return out
	}
	type pick struct {
		place, item int
		text        string
		score       float64
	}
	wanted := queryWords(req.Query)
	best := slices.Clone(shown)
	slices.Sort(best) // candidates are in the order of their scores
	best = best[:min(tldrItems, len(best))]
	var picks []pick
	for _, i := range best {
		n := 0
		for sentence := range sentences(sayable(&cs[i].Record)) {
			if len(sentence) < shortest || len(sentence) > longest || strings.HasSuffix(sentence, "?") {
				continue
			}
			picks = append(picks, pick{slices.Index(shown, i), i, sentence, cs[i].Score + .25*overlap(wanted, sentence)})
			if n++; n >= tldrPerItem {
				break
			}
		}
	}
	slices.SortStableFunc(picks, func(x, y pick) int { return cmp.Compare(y.score, x.score) })
	var chosen []pick
	used := map[int]bool{}
	for round := range 2 {
		for _, p := range picks {
			again := slices.ContainsFunc(chosen, func(c pick) bool { return c.text == p.text })
			if len(chosen) < b.sentences && !again && (round == 1 || !used[p.item]) {
				chosen = append(chosen, p)
				used[p.item] = true
			}
		}
	}
	slices.SortStableFunc(chosen, func(x, y pick) int { return cmp.Compare(x.place, y.place) })
	var text strings.Builder
	for i, p := range chosen {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(p.text)
		out.Citations = append(out.Citations, cs[p.item].Record.ID)
	}
	out.Summary = text.String()
	return out
}

// sayable is the text of an item that can be quoted: not JSON, not code.
func sayable(r *schemas.Record) string {
	if r.Content.Raw() != nil || r.Kind == schemas.KindCode {
		return ""
	}
	return sanitise(r.Content.Text())
}

func queryWords(query string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(query), notWord) {
		if len(w) > 3 {
			out[w] = true
		}
	}
	return out
}

func notWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// overlap is the share of the wanted words that a sentence holds.
func overlap(wanted map[string]bool, sentence string) float64 {
	if len(wanted) == 0 {
		return 0
	}
	n := 0
	hit := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(sentence), notWord) {
		if wanted[w] && !hit[w] {
			hit[w] = true
			n++
		}
	}
	return float64(n) / float64(len(wanted))
}

// sentences yields the sentences of a text, trimmed, each a substring of it.
func sentences(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		emit := func(end int) bool {
			s := strings.TrimSpace(text[start:end])
			start = end
			return s == "" || yield(s)
		}
		for i, r := range text {
			size := utf8.RuneLen(r)
			if ends(text, start, i, r) && !emit(i+size) {
				return
			}
		}
		emit(len(text))
	}
}

// ends reports whether the character r at i ends the sentence that began at start.
func ends(text string, start, i int, r rune) bool {
	switch r {
	case '\n', '。', '！', '？':
		return true
	case '!', '?', '.':
	default:
		return false
	}
	rest := text[i+1:]
	if rest == "" {
		return true
	}
	if rest[0] != ' ' && rest[0] != '\n' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, " \n\"'“‘(["))
	if unicode.IsLower(next) {
		return false
	}
	return r != '.' || !abbreviation(text[start:i])
}

// abbreviation reports whether the text before a full stop ends in an abbreviation or
// an initial.
func abbreviation(before string) bool {
	word := before[strings.LastIndexAny(before, " \n(")+1:]
	if len(word) == 1 && word[0] >= 'A' && word[0] <= 'Z' && word != "I" {
		return true
	}
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "no", "vs", "etc", "e.g", "i.e", "approx", "fig", "inc", "jr", "sr":
		return true
	}
	return false
}
