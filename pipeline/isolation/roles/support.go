package roles

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"satchel/pipeline/language"
	"satchel/schemas"
)

// leastCommon is the share of a sentence's words that must stand in what it cites, or in
// the task, when it is not word for word.
const leastCommon = 0.5

var (
	figure = regexp.MustCompile(`\d(?:[\d.,:/-]*\d)?`)
	mark   = regexp.MustCompile(`\[\d+\]`)
)

// isSupported reports whether a sentence says no more than its sources.
func isSupported(s *schemas.AnswerSentence, sources []string, task, shown string) bool {
	joined := strings.Join(sources, "\n")
	if joined == s.Text || slices.Contains(sources, s.Text) {
		return true
	}
	if language.Denies(s.Text) && !language.Denies(joined) {
		return false
	}
	figures := figure.FindAllString(joined, -1)
	for _, f := range figure.FindAllString(s.Text, -1) {
		if !slices.Contains(figures, f) {
			return false
		}
	}
	known := map[string]bool{}
	for _, w := range language.Analyze(joined + " " + task) {
		known[w] = true
	}
	said := strings.ToLower(joined + " " + task + " " + shownSpeakers(shown, joined))
	for _, name := range findNames(s.Text) {
		if !strings.Contains(said, strings.ToLower(name)) {
			return false
		}
	}
	if !isKnownOpening(s.Text, known, said) {
		return false
	}
	words := language.Analyze(s.Text)
	common := 0
	for _, w := range words {
		if known[w] {
			common++
		}
	}
	return len(sources) > 0 && float64(common) >= leastCommon*float64(len(words))
}

// shownSpeakers returns who the pack says said one of the sources.
func shownSpeakers(shown, sources string) string {
	var out []string
	for line := range strings.Lines(shown) {
		_, said, ok := strings.Cut(line, "] ")
		speaker, text, ok2 := strings.Cut(said, ": ")
		text = strings.TrimSpace(text)
		if ok && ok2 && text != "" && strings.Contains(sources, text) {
			out = append(out, speaker)
		}
	}
	return strings.Join(out, " ")
}

// findNames returns the words inside a sentence that are written like names, the first word
// apart.
func findNames(text string) []string {
	var out []string
	for i, w := range strings.Fields(text) {
		w = strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if r := []rune(w); i > 0 && len(r) > 1 && unicode.IsUpper(r[0]) && w != "I" {
			out = append(out, w)
		}
	}
	return out
}

// isKnownOpening reports whether the word that opens a sentence, where any word is written like a
// name, is one of its sources, of the task, or says nothing by itself. said is what they
// say, in lower case.
func isKnownOpening(text string, known map[string]bool, said string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	lower := strings.ToLower(word)
	if r := []rune(word); len(r) < 2 || !unicode.IsUpper(r[0]) || language.Default().Is(language.Opener, lower) {
		return true
	}
	for _, term := range language.Analyze(word) {
		if !known[term] && !strings.Contains(said, lower) {
			return false
		}
	}
	return true
}

// onlyMarks reports whether what stands between two sentences is white space, citation
// marks and the speaker of the next.
func onlyMarks(between, speaker string) bool {
	between = strings.TrimSpace(mark.ReplaceAllString(between, ""))
	return between == "" || speaker != "" && between+" " == formatSpeaker(speaker)
}
