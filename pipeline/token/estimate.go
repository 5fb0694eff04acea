package token

import "unicode/utf8"

// Estimate counts one token for every four characters begun. It needs no loading.
type Estimate struct{}

// Name returns "chars/4".
func (Estimate) Name() string { return "chars/4" }

// Count returns the characters of text divided by four, rounded up.
func (Estimate) Count(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }

// Exact returns false.
func (Estimate) Exact() bool { return false }

// prefix returns the longest beginning of text of at most n tokens.
func (Estimate) prefix(text string, n int) string {
	left := 4 * n
	for i := range text {
		if left == 0 {
			return text[:i]
		}
		left--
	}
	return text
}
