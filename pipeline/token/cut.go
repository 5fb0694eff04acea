package token

import (
	"unicode"
	"unicode/utf8"
)

const (
	maxChunk = 32 << 10 // bytes given to the encoder at once
	maxSpace = 256      // bytes of white space in a row; the encoders' patterns take quadratic time for more
)

// safeCut returns how much of text the encoder is given next. A text of up to maxChunk
// bytes goes whole, a longer one is cut between two words, where no token can span the
// cut. Only where there is no such place, or in long white space, may a cut add a token.
func safeCut(text string) int {
	if len(text) <= maxSpace {
		return len(text)
	}
	limit := min(len(text), maxChunk)
	between := 0
	spaces := 0
	at := 0
	letter := false // the rune before the white space was a letter
	for at < limit {
		r, n := utf8.DecodeRuneInString(text[at:])
		switch {
		case unicode.IsSpace(r):
			if spaces+n > maxSpace {
				return at
			}
			spaces += n
		case spaces == 1 && letter && unicode.IsLetter(r) && text[at-1] == ' ':
			between = at - 1
			spaces = 0
		default:
			letter = unicode.IsLetter(r)
			spaces = 0
		}
		at += n
	}
	if at >= len(text) {
		return len(text)
	}
	if between > 0 {
		return between
	}
	return at
}
