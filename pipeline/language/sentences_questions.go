package language

import (
	"regexp"
	"strings"
)

// joint is where one question ends and the next begins inside a sentence.
var joint = regexp.MustCompile(`(?i)(?:\s*[,;]\s*(?:and\s+|then\s+)?|\s+and\s+(?:then\s+)?)\b(who|whom|whose|what|when|where|which|why|how|did|does|do|is|are|was|were|can|should|has|have)\b`)

// Questions takes a text apart into questions: sentence by sentence, and at every comma or "and" behind which a new question
// begins.
func Questions(text string) []string {
	var out []string
	add := func(question string) {
		if question = strings.Trim(question, " \t\r\n,;"); question != "" {
			out = append(out, question)
		}
	}
	for _, s := range Sentences(text) {
		sentence, start := text[s.Start:s.End], 0
		for _, m := range joint.FindAllStringSubmatchIndex(sentence, -1) {
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
