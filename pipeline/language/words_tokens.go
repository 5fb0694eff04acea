package language

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Token is a word, a number or a sign of a text that says something: what makes one statement another.
type Token struct {
	Hash     uint64 // of its compatible, lower-case form
	From, To int    // its bytes
}

// Tokens returns the tokens of a text in order. Case, space, punctuation and Unicode forms make
// no token: texts with the same tokens are the same text. A letter of a script without spaces is a token of its own.
func Tokens(text string) []Token {
	out := make([]Token, 0, 8+len(text)/6)
	start := -1
	before := ' '
	add := func(from, to int) {
		out = append(out, Token{HashWord(foldRune(text[from:to])), from, to})
		start = -1
	}
	for i, r := range text {
		n := utf8.RuneLen(r)
		switch alone := withoutSpaces(r); {
		case IsWordRune(r) && !alone:
			if start < 0 {
				start = i
			}
		case isFormatRune(r): // it belongs to what stands beside it
		default:
			if start >= 0 {
				add(start, i)
			}
			if alone || isMeaningfulSign(r) || ofNumber(before, text[i:]) {
				add(i, i+n)
			}
		}
		before = r
	}
	if start >= 0 {
		add(start, len(text))
	}
	return out
}

// SameTokens reports whether tokens of two texts are the same.
func SameTokens(a, b string) bool { return a == b || foldRune(a) == foldRune(b) }

// withoutSpaces reports whether a letter is of a script that puts no spaces between words.
func withoutSpaces(r rune) bool {
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// isFormatRune reports whether a rune shows nothing of its own.
func isFormatRune(r rune) bool {
	return r >= utf8.RuneSelf && (r == utf8.RuneError || unicode.Is(unicode.Cf, r))
}

// isMeaningfulSign reports whether a sign is one that makes another statement: "?", "%", "€", "+", "<", an emoji.
func isMeaningfulSign(r rune) bool {
	if r < utf8.RuneSelf {
		return strings.ContainsRune("?%#&@+<=>|~$", r)
	}
	return unicode.In(r, unicode.Sm, unicode.Sc, unicode.So)
}

// ofNumber reports whether the sign that a text begins with is one of a number: the minus before it, or what stands
// between its digits.
func ofNumber(before rune, text string) bool {
	if len(text) < 2 || !isDigitRune(rune(text[1])) {
		return false
	}
	return isDigitRune(before) && text[0] != ' ' || text[0] == '-' && !IsWordRune(before)
}

func isDigitRune(r rune) bool { return r >= '0' && r <= '9' }

func foldRune(word string) string {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return strings.ToLower(strings.Map(func(r rune) rune {
				if isFormatRune(r) {
					return -1
				}
				return r
			}, norm.NFKC.String(word)))
		}
	}
	return strings.ToLower(word)
}
