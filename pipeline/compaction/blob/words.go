package blob

import (
	"strings"
	"unicode"
)

// wordsOf are the words of a query that can tell one line from another.
func wordsOf(query string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(query), notWord) {
		if len(w) > 2 || strings.ContainsAny(w, "0123456789") {
			out[w] = true
		}
	}
	return out
}

func notWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// countOverlap counts the words that a text holds, a number or identifier as four.
func countOverlap(words map[string]bool, text string) int {
	if len(words) == 0 {
		return 0
	}
	seen := map[string]bool{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), notWord) {
		if words[w] {
			seen[w] = true
		}
	}
	n := len(seen)
	for w := range seen {
		if strings.ContainsAny(w, "0123456789") {
			n += 3
		}
	}
	return n
}
