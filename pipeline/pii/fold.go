package pii

import (
	"slices"
	"unicode/utf8"

	"satchel/pipeline/language"
)

// shift says that from at on, up to the next shift, a place of a folded text stands by
// bytes further on in the original.
type shift struct{ at, by int }

// foldText returns the text with typographic forms in plain ones: wide spaces as blanks,
// hyphens as '-', fullwidth letters and Arabic digits as ASCII, without characters that show
// nothing; and what to add to its places for those of the original. A text without any is
// returned as it is.
func foldText(text string) (plain string, shifts []shift) {
	i := language.CountASCII(text)
	if i == len(text) {
		return text, nil
	}
	var out []byte
	kept := 0 // what of text is in out
	for i < len(text) {
		if b := text[i]; b >= ' ' && b <= '~' || b == '\n' || b == '\t' || b >= utf8.RuneSelf && !folds[b] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		c, changes := plainForm(r)
		if n, parts := language.EscapeSequence(text[i:]); n > 0 {
			size = n
			if parts {
				c = ' '
			}
		}
		if !changes || r == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i += size
			continue
		}
		if out == nil {
			out = make([]byte, 0, len(text))
		}
		out = append(out, text[kept:i]...)
		if c != 0 {
			out = append(out, c)
		}
		i += size
		kept = i
		shifts = append(shifts, shift{len(out), i - len(out)})
	}
	if kept == 0 {
		return text, nil
	}
	return string(append(out, text[kept:]...)), shifts
}

// findOriginalPlace returns where a place of a folded text is in the original: behind what was
// left out before it.
func findOriginalPlace(shifts []shift, at int) int {
	next, _ := slices.BinarySearchFunc(shifts, at, func(s shift, at int) int {
		if s.at <= at {
			return -1
		}
		return 1
	})
	if next == 0 {
		return at
	}
	return at + shifts[next-1].by
}

// folds holds the first bytes of the characters outside ASCII that plainForm may change.
var folds = [256]bool{
	0xC2: true, 0xCD: true, 0xD8: true, 0xD9: true, 0xDB: true, 0xE1: true, 0xE2: true, 0xE3: true, 0xEF: true, 0xF0: true, 0xF3: true,
}

// plainForm returns the ASCII form of a character, 0 for one that shows nothing. changes is false for every other character.
func plainForm(r rune) (c byte, changes bool) {
	switch {
	case r == '\v', r == '\f', r == '\r', r == '\a', r == 0xA0, r >= 0x2000 && r <= 0x200A, r == 0x202F, r == 0x205F, r == 0x3000,
		r == 0x2800, r == 0x3164, r == 0xFFA0: // blanks
		return ' ', true
	case r == 0x85, r == 0x2028, r == 0x2029: // line ends
		return '\n', true
	case language.ShownRune(r) < 0, language.IsInvisible(r):
		return 0, true
	case r >= 0x2010 && r <= 0x2013, r == 0x2212, r == 0xFE63: // hyphens, the en dash, minus
		return '-', true
	case r >= 0x0660 && r <= 0x0669:
		return '0' + byte(r-0x0660), true
	case r >= 0x06F0 && r <= 0x06F9:
		return '0' + byte(r-0x06F0), true
	case r >= 0xFF01 && r <= 0xFF5E: // fullwidth
		return '!' + byte(r-0xFF01), true
	case r == 0xFE6B:
		return '@', true
	}
	return 0, false
}
