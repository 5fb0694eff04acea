package language

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// appendFolded appends the lower-case rune r, its case fully folded and, in Latin
// script, without its diacritics: people leave them out when they ask.
func appendFolded(dst []byte, r rune) []byte {
	switch r {
	case 'ς':
		return utf8.AppendRune(dst, 'σ')
	case 'ß':
		return append(dst, "ss"...)
	case 'æ':
		return append(dst, "ae"...)
	case 'œ':
		return append(dst, "oe"...)
	case 'þ':
		return append(dst, "th"...)
	case 'ø':
		return append(dst, 'o')
	case 'đ', 'ð':
		return append(dst, 'd')
	case 'ł':
		return append(dst, 'l')
	case 'ı':
		return append(dst, 'i')
	}
	if unicode.Is(unicode.Latin, r) {
		var buf [utf8.UTFMax]byte
		n := utf8.EncodeRune(buf[:], r)
		if d := norm.NFD.Properties(buf[:n]).Decomposition(); d != nil {
			base, _ := utf8.DecodeRune(d)
			return appendFolded(dst, base) // ǘ is ü with an accent, itself u with dots
		}
	}
	return utf8.AppendRune(dst, r)
}

// latinEnd reports whether w ends in a letter whose marks are dropped.
func latinEnd(w []byte) bool {
	r, _ := utf8.DecodeLastRune(w)
	return unicode.Is(unicode.Latin, r)
}

// isUnspaced reports whether r belongs to a script written without spaces between words,
// or, like Korean, with so many endings that bigrams serve better than words.
func isUnspaced(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case 0x4e00 <= r && r < 0xa000, 0xac00 <= r && r < 0xd7a4: // the bulk of Han and Hangul
		return true
	case r < 0x0f00: // Thai, Lao
		return unicode.In(r, unicode.Thai, unicode.Lao) && !unicode.IsNumber(r) && !unicode.IsPunct(r) && !unicode.IsSymbol(r)
	case r == 'ー' || r == '々' || r == '〆':
		return true
	case r < 0x1000:
		return false
	}
	return unicode.IsLetter(r) && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// emitBigrams emits every two neighbouring runes of the unspaced run at the start of text,
// or the rune itself when it stands alone, and returns the run's length in bytes.
func (a *Analyzer) emitBigrams(text []byte) int {
	_, first := utf8.DecodeRune(text)
	prev := 0
	at := first
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if !isUnspaced(r) {
			break
		}
		a.emitTerm(text[prev:at+n], false, true)
		prev = at
		at = at + n
	}
	if at == first {
		a.emitTerm(text[:first], false, true)
	}
	return at
}
