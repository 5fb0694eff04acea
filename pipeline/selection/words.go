package selection

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// eachWord calls f with every word of text, lower-cased: runs of letters and digits.
func eachWord(text string, f func(word string)) {
	start := -1
	for i, r := range text {
		if isWordRune(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			f(lower(text[start:i]))
			start = -1
		}
	}
	if start >= 0 {
		f(lower(text[start:]))
	}
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// lower is strings.ToLower; it returns s itself when there is nothing to do.
func lower(s string) string { return strings.ToLower(s) }

// words returns the words of text in order.
func words(text string) []string {
	out := make([]string, 0, 8+len(text)/6)
	eachWord(text, func(w string) { out = append(out, w) })
	return out
}
