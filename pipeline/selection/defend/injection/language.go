package injection

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// elsewhere are frequent words of languages that the model was not trained on, by which
// these are known. Words that are English, too, are left out.
const elsewhere = `der das und ist nicht ich du sie wir ihr ein eine einen einem einer für auf von zu dem den des im als auch sich sind wird werden
haben wie bei nach oder aber wenn dass kann muss alle bitte diese dieser diesem alles keine deine ihre seine noch nur über unter vor
le la les des du une est et que qui dans pour pas sur avec vous nous je tu il elle sont aux ce cette votre notre mais ou où tout toutes être avez veuillez ne se leur
el los las del una por con para está es su sus como pero más todo todas todos usted yo mi ser fue son lo ha muy esta este
gli della delle dei che di per sono è non più questo questa ma anche tutti tutte nel alla si
dos das não uma você são mais seu sua em na
het een en van niet dat ik je zijn voor met aan maar ook deze wordt naar uit wij jij
och att det som är på av för med inte till jag har om ett kan alla og ikke jeg af er et vi skal
ja ei että hän olen oli kun mutta niin kaikki tämä ovat
nie się że jest jak ale po tak za od dla wszystkie proszę oraz na
je jako pro není jsou všechny
az és hogy nem egy ez van meg minden kell
și în cu nu este sunt pentru pe din că să toate
ve bir bu için ile da çok gibi daha olarak tüm lütfen değil
dan yang untuk dengan tidak ini itu dari ke pada adalah semua akan kami anda saya atau
và của là không có cho được các một những người này
ya wa kwa ni katika hii yote kama
su što kao nije sve
ang ng sa mga ay ko mo`

// tongue is the language that a word is known by.
type tongue uint8

const (
	nowhere tongue = iota
	englishWord
	elsewhereWord
)

// moreEnglish are frequent words besides those of frequent.
const moreEnglish = `her his him she hers ours yours mine including during several various few would could should might may must shall cannot
often perhaps within among toward mentioned called named a i am i'm i've it's don't can't didn't let's that's you're was were here there please yes okay using used set get has its be been being
run add new file code when then each per via not no if else only any all`

// tongueTable is an open-addressed hash table from a word's hash to its tongue.
type tongueTable [4096]struct {
	hash uint32
	as   tongue
}

var tongues = tabulateTongues()

func tabulateTongues() *tongueTable {
	t := &tongueTable{}
	for _, list := range []struct {
		words string
		as    tongue
	}{{elsewhere, elsewhereWord}, {frequent + moreEnglish, englishWord}} {
		tokens := tokenizer{text: list.words}
		for tokens.next() {
			at := tokens.hash & 4095
			for t[at].hash != 0 && t[at].hash != tokens.hash {
				at = (at + 1) & 4095
			}
			t[at].hash, t[at].as = tokens.hash, list.as
		}
	}
	return t
}

func (t *tongueTable) of(hash uint32) tongue {
	for at := hash & 4095; t[at].hash != 0; at = (at + 1) & 4095 {
		if t[at].hash == hash {
			return t[at].as
		}
	}
	return nowhere
}

// speech counts the words of a sentence by the language that they are known by.
type speech struct{ words, english, foreign, wide int }

func (l *speech) add(t *tokenizer) {
	l.words++
	switch tongues.of(t.hash) {
	case englishWord:
		l.english++
	case elsewhereWord:
		if apart(t) { // en is no word in lang/en/stop.go
			l.foreign++
		}
	}
	if t.wide && t.at-t.start >= leastLetters && strings.ContainsFunc(t.text[t.start:t.at], wideLetter) {
		l.wide++
	}
}

func wideLetter(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) }

// apart reports whether blanks stand around a word, or the punctuation of a sentence.
func apart(t *tokenizer) bool {
	return (t.start == 0 || t.text[t.start-1] == ' ') && (t.at == len(t.text) || strings.IndexByte(" ,.;:!?", t.text[t.at]) >= 0)
}

// Shares by which a sentence counts as one of another language.
const (
	leastWords   = 4
	leastForeign = 2
	leastLetters = 4  // of another script
	plainWords   = 10 // without one that is known
)

// unread reports whether a sentence is in a language that the model was not trained on:
// in another script, in frequent words of another language, or in words of which none is
// known.
func (l *speech) unread(text string) bool {
	if l.wide > 0 {
		latin, other := scripts(text)
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
	return l.words >= plainWords && l.english == 0 && prose(text)
}

// scripts counts the letters of a text, Latin and other.
func scripts(text string) (latin, other int) {
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			if letter(byte(r)) {
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

// prose reports whether a text is words in small letters, as sentences are.
func prose(text string) bool {
	small, blanks := 0, 0
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
