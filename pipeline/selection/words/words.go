// Package words splits text into lower-cased words: runs of letters and digits. Ranking and
// the defenses compare texts by them.
package words

import (
	"satchel/pipeline/store/keyword"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Each calls f with every word of text, lower-cased: runs of letters and digits.
func Each(text string, f func(word string)) {
	start := -1
	for i, r := range text {
		if IsRune(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			f(strings.ToLower(text[start:i]))
			start = -1
		}
	}
	if start >= 0 {
		f(strings.ToLower(text[start:]))
	}
}

// IsRune reports whether a word may hold the rune.
func IsRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// Of returns the words of text in order.
func Of(text string) []string {
	out := make([]string, 0, 8+len(text)/6)
	Each(text, func(w string) { out = append(out, w) })
	return out
}

// Most is how many words of a query are compared with those of items.
const Most = 32

// Content returns the first distinct words of the query that are no stop words,
// and how many there are.
func Content(ws []string) ([]string, int) {
	out := make([]string, 0, len(ws))
	seen := make(map[string]bool, len(ws))
	for _, w := range ws {
		if !seen[w] && !keyword.StopWord(w) {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out[:min(len(out), Most)], len(out)
}
