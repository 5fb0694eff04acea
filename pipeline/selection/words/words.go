// Package words splits text into lower-cased words: runs of letters and digits. Ranking and
// the defenses compare texts by them.
package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"satchel/pipeline/store/keyword"
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

// Hashes returns the hash of each word of text, in order.
func Hashes(text string) []uint64 {
	out := make([]uint64, 0, 8+len(text)/6)
	hash, reading := uint64(offset), false
	for i := 0; i < len(text); {
		if c := lower(text[i]); c != 0 {
			hash, reading = (hash^uint64(c))*prime, true
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		switch {
		case IsRune(r):
			var room [utf8.UTFMax]byte
			for _, c := range room[:utf8.EncodeRune(room[:], unicode.ToLower(r))] {
				hash = (hash ^ uint64(c)) * prime
			}
			reading = true
		case reading:
			out = append(out, hash)
			hash, reading = offset, false
		}
	}
	if reading {
		out = append(out, hash)
	}
	return out
}

// Hash returns the hash of a lower-cased word: FNV-1a of its bytes.
func Hash(word string) uint64 {
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

// lower returns the lower case of a byte that is an ASCII letter or digit, 0 for any other.
func lower(c byte) byte {
	switch {
	case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
		return c
	case c >= 'A' && c <= 'Z':
		return c + 'a' - 'A'
	}
	return 0
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
