package blob

import (
	"bytes"
	"cmp"
	"slices"
)

const (
	maxNamed = 16 // words of a query that are looked for line by line
	perWord  = 3  // lines kept of each
)

// named collects the lines that hold what a query names, which a template hides when it
// is where its lines differ: a number, a name.
type named struct {
	words []namedWord
	lower []byte
}

type namedWord struct {
	word  []byte
	count int64
	lines []Line
}

func newNamed(query string) named {
	var n named
	for w := range wordsOf(query) {
		n.words = append(n.words, namedWord{word: []byte(w)})
	}
	slices.SortFunc(n.words, func(a, b namedWord) int { return cmp.Or(len(b.word)-len(a.word), bytes.Compare(a.word, b.word)) })
	n.words = n.words[:min(len(n.words), maxNamed)]
	return n
}

// countNamedWords counts the words that a line holds.
func (n *named) countNamedWords(l *line, counted *tally) {
	if len(n.words) == 0 {
		return
	}
	n.lower = append(n.lower[:0], l.text[:min(len(l.text), maxLine)]...)
	for i, c := range n.lower {
		if c >= 'A' && c <= 'Z' {
			n.lower[i] = c + 'a' - 'A'
		}
	}
	for i := range n.words {
		w := &n.words[i]
		if !hasWholeWord(n.lower, w.word) {
			continue
		}
		w.count++
		if len(w.lines) < perWord {
			v := l.quoteLine("query")
			v.from = counted
			w.lines = append(w.lines, v)
		}
	}
}

// hasWholeWord reports whether a text has a word, not as a part of a longer one.
func hasWholeWord(text, word []byte) bool {
	for at := 0; ; at++ {
		i := bytes.Index(text[at:], word)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(word)
		if (at == 0 || !isWordByte(text[at-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
	}
}

func isWordByte(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 0x80 }

// pickRareLines are at most so many of those that hold a word which few do, the rarest first.
func (n *named) pickRareLines(total int64, most int) []Line {
	slices.SortStableFunc(n.words, func(a, b namedWord) int { return cmp.Compare(a.count, b.count) })
	var out []Line
	for i := range n.words {
		w := &n.words[i]
		if w.count > perWord && w.count > total/20 {
			break
		}
		for _, l := range w.lines {
			if len(out) == most {
				return out
			}
			if !slices.ContainsFunc(out, func(x Line) bool { return x.Span == l.Span }) {
				out = append(out, l)
			}
		}
	}
	return out
}
