package token

import "unicode/utf8"

// Estimate counts a token for every four bytes of ASCII and for every two of other
// characters, rounded up: scripts that no tokenizer has many words of take more tokens.
// It needs no loading.
type Estimate struct{}

// Name returns "ascii/4+other/2".
func (Estimate) Name() string { return "ascii/4+other/2" }

// Count returns a quarter of the bytes of ASCII and half of the others, rounded up.
func (Estimate) Count(text string) int {
	others := 0
	for i := range len(text) {
		others += int(text[i] >> 7)
	}
	return (len(text) + others + 3) / 4
}

// Exact returns false.
func (Estimate) Exact() bool { return false }

// takePrefix returns the longest beginning of text of at most n tokens.
func (Estimate) takePrefix(text string, n int) string {
	left := 4 * n
	for i, r := range text {
		cost := 1
		if r >= utf8.RuneSelf {
			_, size := utf8.DecodeRuneInString(text[i:])
			cost = 2 * size
		}
		left -= cost
		if left < 0 {
			return text[:i]
		}
	}
	return text
}
