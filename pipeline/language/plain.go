// It says what a reader sees of a text. Whoever judges, masks or lays out a text asks here, so
// that no character hides from the one what the other shows.
//
// It promises that Shown is what packs and terminals show, and that Bare has nothing in it that shows
// nothing. Any package may import it.

package language

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown removes terminal control sequences, control characters, invalid bytes and characters that change the direction of text or hide in
// it. Line ends but '\n' become blanks, and so does what ends the text of a link on a terminal.
func Shown(s string) string { return mapRunes(withoutEscapes(s), ShownRune) }

// mapRunes is a text with each character that is not printable ASCII as by makes it, −1 for nothing.
func mapRunes(text string, by func(rune) rune) string {
	for i := 0; i < len(text); {
		if n := CountASCII(text[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if by(r) != r {
			return text[:i] + strings.Map(by, text[i:])
		}
		i += n
	}
	return text
}

// ShownRune is what Shown makes of a character: itself, a space, or -1 for nothing.
func ShownRune(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == '\u2028' || r == '\u2029' || r == '\u0085' || r == '\v' || r == '\f' || r == '\r' || r == '\a':
		return ' '
	case r == utf8.RuneError, unicode.IsControl(r):
		return -1
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\ufeff', r >= 0xE0000 && r <= 0xE007F:
		return -1
	}
	return r
}

// IsInvisible reports whether a character that Shown keeps shows nothing, or a blank that is no white space.
func IsInvisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return true
	}
	return r == '\u2800' || r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' || r == '\U0001d159'
}

// Bare is a text without what Shown leaves out and without what is invisible, where each blank is the usual one. '\r' stays.
func Bare(text string) string { return mapRunes(withoutEscapes(text), simplifyRune) }

// simplifyRune is what Bare makes of a character: itself, a blank, or -1 for nothing.
func simplifyRune(r rune) rune {
	shown := ShownRune(r)
	switch {
	case shown < 0 || IsInvisible(r):
		return -1
	case r == '\r' || r == '\n' || r == '\t':
		return r
	case unicode.IsSpace(r):
		return ' '
	}
	return shown
}

// CountASCII returns how much of the beginning of a text, counted in eights but for the end, is printable ASCII. It looks
// at eight bytes at a time: of each, the highest bit of x is set above '~', or of x+1, or of x-' ' below ' '. What a
// byte carries over or borrows is of a text that is refused by then.
func CountASCII(text string) (n int) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; n+8 <= len(text); n += 8 {
		w := text[n : n+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		if (x|(x+each)|(x-each*' '))&high != 0 {
			return n
		}
	}
	for n < len(text) && text[n] >= ' ' && text[n] <= '~' {
		n++
	}
	return n
}
