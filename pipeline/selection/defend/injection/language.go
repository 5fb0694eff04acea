package injection

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	lang "satchel/pipeline/language"
)

// tongue is the language that a word is known by.
type tongue uint8

const (
	nowhere tongue = iota
	englishWord
	elsewhereWord
)

// tongueTable is an open-addressed hash table from a word's hash to its tongue.
type tongueTable [4096]struct {
	hash uint32
	as   tongue
}

// tongues returns the table of the lexicon's words. It is made when the first text is read.
var tongues = tabulateOnce()

func tabulateOnce() func() *tongueTable { return sync.OnceValue(tabulateTongues) }

// tabulateTongues makes the table. Words that are English, too, count as English.
func tabulateTongues() *tongueTable {
	t := &tongueTable{}
	t.add(elsewhereWord, lang.Default().Words(lang.Frequent)...)
	t.add(englishWord, lang.Of("en").Words(lang.Frequent|lang.Stop)...)
	t.add(englishWord, frequent)
	return t
}

// add sets the language of the words of texts.
func (t *tongueTable) add(as tongue, texts ...string) {
	for _, text := range texts {
		tokens := tokenizer{text: text}
		for tokens.moveToNext() {
			at := tokens.hash & 4095
			for t[at].hash != 0 && t[at].hash != tokens.hash {
				at = (at + 1) & 4095
			}
			t[at].hash = tokens.hash
			t[at].as = as
		}
	}
}

func (t *tongueTable) findTongue(hash uint32) tongue {
	for at := hash & 4095; t[at].hash != 0; at = (at + 1) & 4095 {
		if t[at].hash == hash {
			return t[at].as
		}
	}
	return nowhere
}

// speech counts the words of a sentence by the language that they are known by.
type speech struct{ words, english, foreign, wide int }

func (l *speech) countToken(t *tokenizer) {
	l.words++
	switch tongues().findTongue(t.hash) {
	case englishWord:
		l.english++
	case elsewhereWord:
		if isSetApart(t) { // en is no word in lang/en/stop.go
			l.foreign++
		}
	}
	if t.wide && t.at-t.start >= leastLetters && strings.ContainsFunc(t.text[t.start:t.at], wideLetter) {
		l.wide++
	}
}

func wideLetter(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) }

// isSetApart reports whether blanks stand around a word, or the punctuation of a sentence.
func isSetApart(t *tokenizer) bool {
	return (t.start == 0 || t.text[t.start-1] == ' ') && (t.at == len(t.text) || strings.IndexByte(" ,.;:!?", t.text[t.at]) >= 0)
}

// Shares by which a sentence counts as one of another language.
const (
	leastWords   = 4
	leastForeign = 2
	leastLetters = 4  // of another script
	plainWords   = 10 // without one that is known
)

// isUnknownLanguage reports whether a sentence is in a language that the model was not trained on:
// in another script, in frequent words of another language, or in words of which none is
// known.
func (l *speech) isUnknownLanguage(text string) bool {
	if l.wide > 0 {
		latin, other := countLetters(text)
		if other >= leastLetters && 2*other >= latin {
			return true
		}
	}
	switch {
	case l.words < leastWords:
		return false
	case l.foreign >= leastForeign && l.foreign > l.english && 5*l.foreign >= l.words:
		return true
	case l.foreign > 0 && l.wide > 0 && 3*l.english <= l.words:
		return true
	case l.wide >= 2 && 4*l.wide >= l.words && 10*l.english < l.words:
		return true
	}
	return l.words >= plainWords && l.english == 0 && isProseText(text)
}

// countLetters counts the letters of a text, Latin and other.
func countLetters(text string) (latin, other int) {
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			if isLetterByte(byte(r)) {
				latin++
			}
		case unicode.Is(unicode.Latin, r):
			latin++
		case unicode.IsLetter(r):
			other++
		}
	}
	return latin, other
}

// isProseText reports whether a text is words in small letters, as sentences are.
func isProseText(text string) bool {
	small := 0
	blanks := 0
	before := ' '
	for i, r := range text {
		switch {
		case r >= 'a' && r <= 'z' || wideLetter(r):
			small++
		case r == ' ':
			blanks++
		case r >= 'A' && r <= 'Z' && before == ' ', r == ',', r == '\'':
		case (r == '.' || r == '!' || r == '?') && i == len(text)-1:
		default:
			return false
		}
		before = r
	}
	return small >= 3*blanks
}
