package pack

import (
	"strings"
	"unicode"

	"satchel/pipeline/language"
)

// Sentences yields the sentences of prose in a text, trimmed, each a substring of it,
// in order. They end where package sentences says. Code, in a fence or by its looks, and headings are no sentences; the mark of a
// list's entry is none of its sentence.
func Sentences(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		fence := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if mark := fenceMark(strings.TrimPrefix(line, "\\")); mark != "" {
				switch fence {
				case "":
					fence = mark
				case mark:
					fence = ""
				}
				continue
			}
			if fence == "" && !ofLine(line, yield) {
				return
			}
		}
	}
}

func fenceMark(line string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, mark) {
			return mark
		}
	}
	return ""
}

// ofLine yields the sentences of one line and reports whether more are wanted.
func ofLine(line string, yield func(string) bool) bool {
	line = strings.TrimSpace(line[listMark(line):])
	if line == "" || strings.HasPrefix(strings.TrimPrefix(line, "\\"), "#") || looksLikeCode(line) {
		return true
	}
	for from, to := range language.SentencesOfLine(line) {
		if !yield(line[from:to]) {
			return false
		}
	}
	return true
}

// listMark is the length of "- ", "* ", "• ", "3. " or "3) " at the beginning of a line.
func listMark(line string) int {
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– "} {
		if strings.HasPrefix(line, mark) {
			return len(mark)
		}
	}
	n := 0
	for n < min(len(line), 3) && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	if rest := line[n:]; n > 0 && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")) {
		return n + 2
	}
	return 0
}

// looksLikeCode reports whether a line is rather code, a table or a path than prose: it
// ends like a statement or a block, or holds more marks than words can.
func looksLikeCode(line string) bool {
	switch line[len(line)-1] {
	case ';', '{', '}', '|':
		return true
	}
	var marks, letters int
	for _, r := range line {
		switch {
		case unicode.IsLetter(r):
			letters++
		case strings.ContainsRune("{}[]()<>=;|\\/_*&^%$#@~`+:", r):
			marks++
		}
	}
	return marks > 2 && marks*5 > letters
}
