package selection

import (
	"strings"

	"satchel/pipeline/language"
)

// questionPhrases are patterns of words, see newQuestionPhrases.
type questionPhrases [][]string

// newQuestionPhrases returns the ways in which a question says what the answer should look like, and
// not what it is about: they are not looked for. A word may have alternatives (a|b) or
// be left out (a?); * is any word. The longer ones of a kind come first.
func newQuestionPhrases() questionPhrases {
	list := language.Default().Subject()
	out := make(questionPhrases, len(list))
	for i, pattern := range list {
		out[i] = strings.Fields(pattern)
	}
	return out
}

// askedWord is a word of a text and where it stands.
type askedWord struct {
	text       string
	start, end int
}

func askedWords(text string) []askedWord {
	var out []askedWord
	start := -1
	for i, r := range text {
		switch {
		case language.IsWordRune(r):
			if start < 0 {
				start = i
			}
		case start >= 0:
			out = append(out, askedWord{strings.ToLower(text[start:i]), start, i})
			start = -1
		}
	}
	if start >= 0 {
		out = append(out, askedWord{strings.ToLower(text[start:]), start, len(text)})
	}
	return out
}

// fewestLeft is how many words that are no stop words a subject must have.
const fewestLeft = 2

// findSubject returns what a question is about: its text without the questionPhrases, or as it is
// where too little would be left.
func (a questionPhrases) findSubject(text string) string {
	ws := askedWords(text)
	var b strings.Builder
	from := 0
	for i := 0; i < len(ws); {
		n := a.countAskingWords(ws[i:])
		if n == 0 {
			i++
			continue
		}
		b.WriteString(text[from:ws[i].start])
		from = ws[i+n-1].end
		i += n
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	out := strings.Join(strings.Fields(b.String()), " ")
	if _, n := language.ContentWords(language.Words(out)); n < fewestLeft {
		return text
	}
	return out
}

// countAskingWords returns how many of the first words are an asking, 0 for none.
func (a questionPhrases) countAskingWords(ws []askedWord) int {
	for _, pattern := range a {
		if n, ok := matchWords(pattern, ws); ok && !(n == 2 && len(ws) > 2 && ws[1].text == "order" && ws[2].text == "to") {
			return n
		}
	}
	return 0
}

// matchWords reports whether the words begin with the pattern, and how many it takes.
func matchWords(pattern []string, ws []askedWord) (int, bool) {
	if len(pattern) == 0 {
		return 0, true
	}
	want, optional := strings.CutSuffix(pattern[0], "?")
	if len(ws) > 0 && (want == "*" || oneOf(want, ws[0].text)) {
		if n, ok := matchWords(pattern[1:], ws[1:]); ok {
			return n + 1, true
		}
	}
	if optional {
		return matchWords(pattern[1:], ws)
	}
	return 0, false
}

func oneOf(alternatives, word string) bool {
	for alternatives != "" {
		one, rest, _ := strings.Cut(alternatives, "|")
		if one == word {
			return true
		}
		alternatives = rest
	}
	return false
}
