package language

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// joiners join words and are not in the word that these are together.
const joiners = "-'’"

// IsSignedName reports whether a word is a name with signs: c++, .net, 1.0.0.
func IsSignedName(word string) bool { return strings.ContainsAny(word, "+#.") }

// wordOf returns the word that a span is.
func wordOf(span string) string {
	word := strings.ToLower(span)
	if !strings.ContainsAny(word, joiners) {
		return word
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(joiners, r) {
			return -1
		}
		return r
	}, word)
}

// reader reads the spans of a text.
type reader struct {
	text  string
	f     func(span string)
	start int  // of the word that is read, -1 for none
	chain int  // where the words begin that signs have joined to it, -1 for none
	sign  byte // of the chain
}

// visitWords calls f with the part of text that each word is.
func visitWords(text string, f func(span string)) {
	r := reader{text: text, f: f, start: -1, chain: -1}
	for i, c := range text {
		switch {
		case IsWordRune(c):
			if r.start < 0 {
				r.start = i
			}
		case r.start < 0:
		case r.isJoiningRune(i, c):
			r.closeJoinedWord(i, c)
		default:
			r.closeWord(i + CountSigns(text[r.start:i], text[i:]))
			r.closeChain(i)
		}
	}
	if r.start >= 0 {
		r.closeWord(len(text))
		r.closeChain(len(text))
	}
}

func isApostrophe(c rune) bool { return c == '\'' || c == '’' }

// isJoiningRune reports whether the character at a place joins the word before it to the next.
func (r *reader) isJoiningRune(at int, c rune) bool {
	if !isApostrophe(c) {
		return c < utf8.RuneSelf && JoinsWords(r.text, at, r.sign)
	}
	next, _ := utf8.DecodeRuneInString(r.text[at+utf8.RuneLen(c):])
	return (r.sign == 0 || r.sign == '\'') && unicode.IsLetter(next)
}

// closeJoinedWord ends a word that the character at a place joins to the next.
func (r *reader) closeJoinedWord(at int, c rune) {
	r.closeWord(at)
	if r.chain < 0 {
		r.chain = r.start
	}
	r.start = at + utf8.RuneLen(c)
	r.sign = byte(c)
	if isApostrophe(c) {
		r.sign = '\''
	}
}

// closeWord ends a word at a place.
func (r *reader) closeWord(to int) {
	if r.start > 0 && r.chain < 0 && LeadsSign(r.text, r.start-1) {
		r.f(r.text[r.start-1 : to])
	}
	compoundWords(r.text[r.start:to], r.f)
}

// closeChain ends the chain of words at a place.
func (r *reader) closeChain(to int) {
	if r.chain >= 0 && to-r.chain <= MostChain {
		r.emitChain(r.text[r.chain:to])
	}
	r.start = -1
	r.chain = -1
	r.sign = 0
}

// emitChain calls f with what a chain is without the v of a version and without the ending of a contraction.
func (r *reader) emitChain(chain string) {
	switch r.sign {
	case '.':
		chain = WithoutV(chain)
	case '\'':
		at := strings.LastIndexFunc(chain, isApostrophe)
		_, n := utf8.DecodeRuneInString(chain[at:])
		ending := wordOf(chain[at+n:])
		if ending == "t" {
			return
		}
		if IsContracted(ending) {
			chain = chain[:at]
		}
		if !strings.ContainsFunc(chain, isApostrophe) {
			return
		}
	}
	r.f(chain)
}

// compoundWords calls f with a word, and with the parts of a compound as the keyword index cuts it: softLogout, HTTPServer.
func compoundWords(word string, f func(string)) {
	f(word)
	from := 0
	part := func(to int) {
		if to-from >= 2 && to-from < len(word) {
			f(word[from:to])
		}
		from = to
	}
	upper := func(i int) bool { return word[i] >= 'A' && word[i] <= 'Z' }
	lower := func(i int) bool { return word[i] >= 'a' && word[i] <= 'z' }
	for i := 1; i < len(word); i++ {
		if upper(i) && (lower(i-1) || i+1 < len(word) && upper(i-1) && lower(i+1)) {
			part(i)
		}
	}
	part(len(word))
}
