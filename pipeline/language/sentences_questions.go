package language

import (
	"regexp"
	"strings"
)

// newJoint finds where one question ends and the next begins inside a sentence, with one of the words that begin questions.
func newJoint(asking []string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:\s*[,;]\s*(?:and\s+|then\s+)?|\s+and\s+(?:then\s+)?)\b(` + strings.Join(asking, "|") + `)\b`)
}

// Questions takes a text apart into questions: sentence by sentence, and at every comma or "and" behind which a new question
// begins.
func Questions(text string) []string {
	var out []string
	add := func(question string) {
		question = strings.Trim(question, " \t\r\n,;")
		if question != "" {
			out = append(out, question)
		}
	}
	for _, s := range Sentences(text) {
		sentence := text[s.Start:s.End]
		start := 0
		for _, m := range lexicons().joint.FindAllStringSubmatchIndex(sentence, -1) {
			if len(strings.Fields(sentence[start:m[0]])) < 2 {
				continue
			}
			add(sentence[start:m[0]])
			start = m[2]
		}
		add(sentence[start:])
	}
	return out
}
