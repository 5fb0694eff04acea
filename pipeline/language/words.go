// It splits text into lower-cased words: runs of letters and digits. Ranking and
// the defenses compare texts by them.

package language

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostRead is how many bytes of an item are compared with a question and with other items.
const mostRead = 64 << 10

// ComparedHead returns the beginning of an item's text by which it is compared: the whole, unless that is very long.
func ComparedHead(text string) string {
	if len(text) <= mostRead {
		return text
	}
	end := mostRead
	for end > mostRead-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// EachWord calls f with every word of text, lower-cased: runs of letters and digits with the signs of names, the parts of
// compounds, and what signs join, by the rules of [keyword.Joins].
func EachWord(text string, f func(word string)) {
	visitWords(text, func(span string) { f(wordOf(span)) })
}

// IsWordRune reports whether a word may hold the rune.
func IsWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// Words returns the words of text in order.
func Words(text string) []string {
	out := make([]string, 0, 8+len(text)/6)
	EachWord(text, func(w string) { out = append(out, w) })
	return out
}

// HashWords returns the hash of each word of text, in order.
func HashWords(text string) []uint64 {
	out := make([]uint64, 0, 8+len(text)/6)
	visitWords(text, func(span string) { out = append(out, hashOf(span)) })
	return out
}

// hashOf returns the hash of the word that a span is.
func hashOf(span string) uint64 {
	hash := uint64(offset)
	for i := 0; i < len(span); {
		if c := lowerByte(span[i]); c != 0 {
			hash = (hash ^ uint64(c)) * prime
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(span[i:])
		i += n
		if strings.ContainsRune(joiners, r) {
			continue
		}
		var room [utf8.UTFMax]byte
		for _, c := range room[:utf8.EncodeRune(room[:], unicode.ToLower(r))] {
			hash = (hash ^ uint64(c)) * prime
		}
	}
	return hash
}

// HashWord returns the hash of a lower-cased word: FNV-1a of its bytes.
func HashWord(word string) uint64 {
	hash := uint64(offset)
	for i := range len(word) {
		hash = (hash ^ uint64(word[i])) * prime
	}
	return hash
}

// Of FNV-1a.
const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

// lowerByte returns the lower case of a byte that is an ASCII letter or digit, 0 for any other.
func lowerByte(c byte) byte {
	switch {
	case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
		return c
	case c >= 'A' && c <= 'Z':
		return c + 'a' - 'A'
	}
	return 0
}

// MostWords is how many words of a query are compared with those of items.
const MostWords = 32

// ContentWords returns the first distinct words of the query that are no stop words,
// and how many there are.
func ContentWords(ws []string) ([]string, int) {
	out := make([]string, 0, len(ws))
	seen := make(map[string]bool, len(ws))
	for _, w := range ws {
		if !seen[w] && !IsStopWord(w) {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out[:min(len(out), MostWords)], len(out)
}
