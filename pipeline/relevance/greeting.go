package relevance

import (
	"strings"
	"unicode"

	"satchel/pipeline/language"
	"satchel/pipeline/pii"
)

// mostWords is how many words a greeting, thanks or farewell may have, and longest how many a phrase of it has.
const (
	mostWords = 12
	longest   = 5
)

// Greets reports whether a text is a greeting, thanks or farewell and nothing more. A name, pleasantries and how
// somebody is may stand with it. Any other word is a task.
func Greets(text string) bool { return hasOnlyPhrases(text, language.Greeting) }

// AsksNothing reports whether a text greets, or says yes or no and nothing more.
func AsksNothing(text string) bool { return hasOnlyPhrases(text, language.Greeting|language.Answer) }

// hasOnlyPhrases reports whether a text is such a phrase, or more of them, and what may stand with a greeting.
func hasOnlyPhrases(text string, with language.Class) bool {
	words := strings.FieldsFunc(text, isSign)
	if len(words) == 0 || len(words) > mostWords {
		return false
	}
	small := make([]string, len(words))
	for i, w := range words {
		small[i] = strings.ReplaceAll(strings.ToLower(w), "’", "'")
	}
	at := phraseAt(small, with)
	if at == 0 {
		return false
	}
	for at < len(words) {
		n := phraseAt(small[at:], with|language.Pleasantry)
		if n == 0 {
			n = pii.NameWords(words[at:])
		}
		if n == 0 {
			return false
		}
		at += n
	}
	return true
}

// AfterGreeting returns what is asked after a greeting, a yes or a no that a sign sets off. Where there is none, or so few words follow
// that they may belong to it, it returns the text.
func AfterGreeting(text string) string {
	const signs, fewest = ".!?,;:\n…—–。！？，、", 3
	if AsksNothing(text) {
		return text
	}
	for from := 0; ; {
		n := strings.IndexAny(text[from:], signs)
		if n < 0 || !AsksNothing(text[:from+n]) {
			return text[from:]
		}
		rest := strings.TrimLeft(text[from+n:], signs+" \t")
		if len(strings.FieldsFunc(rest, isSign)) < fewest {
			return text[from:]
		}
		from = len(text) - len(rest)
	}
}

func isSign(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
}

// phraseAt returns how many of the first words are a phrase of a class, as many as there may be; 0 for none.
func phraseAt(words []string, is language.Class) int {
	for n := min(longest, len(words)); n > 0; n-- {
		if language.Default().Is(is, strings.Join(words[:n], " ")) {
			return n
		}
	}
	return 0
}
