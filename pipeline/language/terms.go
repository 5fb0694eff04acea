package language

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of what is read of a text. A longer term keeps its beginning, and so does a longer run of
// characters of base64 without a blank, which nobody looks for; further terms are left out.
const (
	maxTerm  = 64       // bytes
	maxRun   = 256      // bytes
	maxTerms = 16 << 10 // different ones
)

// Analyze returns the terms of text in order: for every word its stem unless it is a
// stop word, followed, when the word is a compound, by the stems of its parts. It is
// the one analysis every index and every query uses; see the package comment for its rules.
func Analyze(text string) []string {
	var a Analyzer
	a.Analyze(text)
	out := make([]string, a.Len())
	for i := range out {
		out[i] = string(a.Term(i))
	}
	return out
}

// CountTerms returns the number of stemmed non-stop words of text, compounds counted once.
// It is the length that neighbour damping divides by.
func CountTerms(text string) int {
	var a Analyzer
	a.Analyze(text)
	return a.Words()
}

// Analyzer is Analyze without its allocations: it keeps its buffers between calls.
// The zero value works. It is not safe for concurrent use.
type Analyzer struct {
	terms []byte // the terms, one after another
	ends  []uint32
	words int

	folded []byte // the normalised text
	word   []byte // the word being read, lower-cased
	cuts   []int  // where word's parts begin, the first (0) left out
	spare  []int  // for the next cuts
	plain  bool   // word holds only a–z so far
	upper  bool   // the last rune of word was upper case
	lower  bool   // the last rune of word was lower case or a digit
	dotted bool   // a dot leads word
	chain  chain
	stops  *stopTable
}

// Analyze replaces the terms a holds by those of text.
func (a *Analyzer) Analyze(text string) {
	a.terms = a.terms[:0]
	a.ends = a.ends[:0]
	a.words = 0
	a.resetWord()
	a.dotted, a.stops = false, lexicons().stops
	a.chain = chain{text: a.chain.text[:0]}
	if isAllASCII(text) {
		a.folded = append(a.folded[:0], text...)
	} else {
		a.folded = norm.NFKC.AppendString(a.folded[:0], text)
	}
	a.readText(a.folded)
	if len(a.ends) > maxTerms {
		a.limitTerms()
	}
}

// limitTerms keeps the first different terms, wherever they stand.
func (a *Analyzer) limitTerms() {
	seen := make(map[string]struct{}, maxTerms)
	ends := a.ends[:0]
	start := uint32(0)
	kept := 0
	for _, end := range a.ends {
		term := a.terms[start:end]
		start = end
		if _, known := seen[string(term)]; !known {
			if len(seen) == maxTerms {
				continue
			}
			seen[string(term)] = struct{}{}
		}
		kept += copy(a.terms[kept:], term)
		ends = append(ends, uint32(kept))
	}
	a.terms = a.terms[:kept]
	a.ends = ends
	a.words = min(a.words, len(ends))
}

// Len returns the number of terms.
func (a *Analyzer) Len() int { return len(a.ends) }

// Words returns the number of words among the terms: parts of compounds are not counted.
func (a *Analyzer) Words() int { return a.words }

// Term returns the i-th term. It is valid until the next Analyze and must not be changed.
func (a *Analyzer) Term(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = a.ends[i-1]
	}
	return a.terms[start:a.ends[i]:a.ends[i]]
}

func isAllASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (a *Analyzer) resetWord() {
	a.word = a.word[:0]
	a.cuts = a.cuts[:0]
	a.plain = true
	a.upper = false
	a.lower = false
}

// markPartStart marks that a part begins here.
func (a *Analyzer) markPartStart() {
	n := len(a.word)
	if n > 0 && (len(a.cuts) == 0 || a.cuts[len(a.cuts)-1] != n) {
		a.cuts = append(a.cuts, n)
	}
}

// readText reads normalised text.
func (a *Analyzer) readText(text []byte) {
	run := 0 // where the run of characters of base64 begins that is read
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if !base64[c] {
				run = i + 1
			} else if i-run >= maxRun {
				a.finishWord()
				for i < len(text) && base64[text[i]] {
					i++
				}
				continue
			}
			a.readByte(c, text, i)
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if isUnspaced(r) {
			a.finishWord()
			i += a.emitBigrams(text[i:])
			run = i
			continue
		}
		i += n
		run = i
		a.readRune(r, text[i:])
	}
	a.finishWord()
}

// base64 are the characters of its standard and its URL alphabet.
var base64 = base64Table()

func base64Table() (t [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=") {
		t[c] = true
	}
	return t
}

// readByte reads c, the byte of text at i.
func (a *Analyzer) readByte(c byte, text []byte, i int) {
	rest := text[i+1:]
	switch {
	case 'a' <= c && c <= 'z':
		a.word = append(a.word, c)
		a.upper = false
		a.lower = true
	case 'A' <= c && c <= 'Z':
		if a.lower || a.upper && twoLower(rest) {
			a.markPartStart()
		}
		a.word = append(a.word, c+'a'-'A')
		a.upper = true
		a.lower = false
	case '0' <= c && c <= '9':
		a.word = append(a.word, c)
		a.plain = false
		a.upper = false
		a.lower = true
	case len(a.word) == 0:
		a.dotted = LeadsSign(text, i)
	case c == '\'' && letterNext(rest):
		a.keepApostrophe()
	case c == '_':
		a.appendUnderscore()
	case JoinsWords(text, i, a.chain.sign):
		a.flushJoinedWord(c)
	default:
		if a.plain {
			if n := CountSigns(a.word, text[i:]); n > 0 {
				a.word = append(a.word, text[i:i+n]...)
				a.plain = false
			}
		}
		a.finishWord()
	}
}

// keepApostrophe keeps the apostrophe as a byte no letter uses; flush settles what it meant.
func (a *Analyzer) keepApostrophe() {
	a.word = append(a.word, '\'')
	a.plain = false
	a.upper = false
	a.lower = false
}

func (a *Analyzer) appendUnderscore() {
	a.word = append(a.word, '_')
	a.plain = false
	a.upper = false
	a.lower = false
	a.markPartStart()
}

// finishWord emits the word that was read, its parts and the chain it ends, and begins a new one.
func (a *Analyzer) finishWord() {
	if len(a.word) > 0 {
		a.flushWord()
		a.endChain()
	}
	a.dotted = false
}

// flushWord emits the word that was read and its parts, and begins a new one.
func (a *Analyzer) flushWord() {
	a.chain.appendWord(a.word)
	if a.dotted {
		a.emitDotted()
	}
	if a.plain && len(a.cuts) == 0 {
		a.emitTerm(a.word, true, true)
	} else {
		a.flushCompound()
	}
	a.resetWord()
}

func (a *Analyzer) flushCompound() {
	w := trimUnderscores(a.word)
	if i := slices.Index(w, '\''); i >= 0 {
		w = a.removeApostrophes(w, i)
	}
	if len(w) == 0 {
		return
	}
	plain := onlyLetters(w)
	a.emitTerm(w, plain, true)
	start := 0
	for _, c := range a.cuts {
		if c < len(w) {
			a.emitPart(w[start:c])
			start = c
		}
	}
	if start > 0 {
		a.emitPart(w[start:])
	}
}

// removeApostrophes removes the apostrophes of w, the first at i: endings ('s, 're, n't and the
// like) go with what they stand for, any other apostrophe leaves two parts (O'Brien).
func (a *Analyzer) removeApostrophes(w []byte, i int) []byte {
	last := len(w) - 1
	for w[last] != '\'' {
		last--
	}
	switch ending := w[last+1:]; {
	case IsContracted(ending):
		w = w[:last]
	case last > 0 && string(w[last-1:]) == "n't":
		return nil // don't, can't, isn't: all stop words
	}
	kept := i
	old := a.cuts
	cuts := old
	a.cuts = a.spare[:0]
	for at := i; at < len(w); at++ {
		for len(cuts) > 0 && cuts[0] <= at { // a cut before i stays, one behind moves
			a.cuts = append(a.cuts, cuts[0]-(at-kept))
			cuts = cuts[1:]
		}
		if w[at] != '\'' {
			w[kept] = w[at]
			kept++
		} else if kept > 0 {
			a.cuts = append(a.cuts, kept)
		}
	}
	a.spare = old
	a.cuts = slices.Compact(a.cuts)
	return w[:kept]
}

func trimUnderscores(w []byte) []byte {
	for len(w) > 0 && w[len(w)-1] == '_' {
		w = w[:len(w)-1]
	}
	return w
}

// emitPart emits a part of a compound; one letter alone says nothing.
func (a *Analyzer) emitPart(p []byte) {
	p = trimUnderscores(p)
	if utf8.RuneCount(p) > 1 {
		a.emitTerm(p, onlyLetters(p), false)
	}
}

func onlyLetters(w []byte) bool {
	for _, c := range w {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// emitTerm adds w as a term unless it is a stop word; English words (only a–z) are stemmed.
func (a *Analyzer) emitTerm(w []byte, english, whole bool) {
	if english && a.stops.has(w) {
		return
	}
	w = clipTerm(w)
	at := len(a.terms)
	a.terms = append(a.terms, w...)
	if english {
		a.terms = a.terms[:at+stemWord(a.terms[at:])]
	}
	a.ends = append(a.ends, uint32(len(a.terms)))
	if whole {
		a.words++
	}
}

func clipTerm(w []byte) []byte {
	if len(w) <= maxTerm {
		return w
	}
	n := maxTerm
	for n > 0 && !utf8.RuneStart(w[n]) {
		n--
	}
	return w[:n]
}

// readRune reads a rune that is not ASCII.
func (a *Analyzer) readRune(r rune, rest []byte) {
	switch {
	case (r == '’' || r == 'ʼ') && len(a.word) > 0 && letterNext(rest):
		a.keepApostrophe()
	case r == 'ʼ': // Unicode calls it a letter
		a.finishWord()
	case unicode.IsUpper(r) || unicode.IsTitle(r):
		if a.lower || a.upper && twoLower(rest) {
			a.markPartStart()
		}
		a.appendRune(unicode.ToLower(r))
		a.upper = true
		a.lower = false
	case unicode.IsLetter(r):
		a.appendRune(r)
		a.upper, a.lower = false, unicode.IsLower(r)
	case unicode.IsNumber(r):
		a.appendRune(r)
		a.upper = false
		a.lower = true
	case unicode.IsMark(r):
		if len(a.word) > 0 && !latinEnd(a.word) {
			a.appendRune(r)
		}
	case r == '\u00ad' || r == '\u200c' || r == '\u200d' || r == '\u2060' || r == '\ufeff':
		// invisible inside a word
	default:
		a.finishWord()
	}
}

// appendRune adds a lower-case rune in its folded form.
func (a *Analyzer) appendRune(r rune) {
	if r < utf8.RuneSelf {
		a.word = append(a.word, byte(r))
		a.plain = a.plain && 'a' <= r && r <= 'z'
		return
	}
	n := len(a.word)
	a.word = appendFolded(a.word, r)
	a.plain = a.plain && onlyLetters(a.word[n:])
}

func letterNext(rest []byte) bool {
	r, _ := utf8.DecodeRune(rest)
	return unicode.IsLetter(r)
}

// twoLower reports whether rest begins with two lower-case letters: then the capital
// before it opens a part (HTTPServer), otherwise it belongs to the acronym (URLs).
func twoLower(rest []byte) bool {
	r, n := utf8.DecodeRune(rest)
	next, _ := utf8.DecodeRune(rest[n:])
	return unicode.IsLower(r) && unicode.IsLower(next)
}
