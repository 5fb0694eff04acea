package roles

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"satchel/schemas"
)

// sentences returns the sentences of a text as spans of bytes, without the white space
// around them.
func sentences(text string) []schemas.Span {
	var out []schemas.Span
	start := 0
	emit := func(end int) {
		part := text[start:end]
		left := len(part) - len(strings.TrimLeftFunc(part, unicode.IsSpace))
		if trimmed := strings.TrimSpace(part); trimmed != "" {
			out = append(out, schemas.Span{Start: start + left, End: start + left + len(trimmed)})
		}
		start = end
	}
	for i, r := range text {
		if ends(text, start, i, r) {
			emit(i + utf8.RuneLen(r))
		}
	}
	emit(len(text))
	return out
}

// ends reports whether the character r at i ends the sentence that began at start.
func ends(text string, start, i int, r rune) bool {
	switch r {
	case '\n', '。', '！', '？':
		return true
	case '!', '?', '.':
	default:
		return false
	}
	rest := text[i+1:]
	if rest == "" {
		return true
	}
	if rest[0] != ' ' && rest[0] != '\n' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, " \n\"'“‘(["))
	if unicode.IsLower(next) {
		return false
	}
	return r != '.' || !abbreviated(text[start:i])
}

// abbreviated reports whether the text before a full stop ends in an abbreviation or an
// initial.
func abbreviated(before string) bool {
	word := before[strings.LastIndexAny(before, " \n(")+1:]
	if len(word) == 1 && word[0] >= 'A' && word[0] <= 'Z' && word != "I" {
		return true
	}
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "no", "vs", "etc", "e.g", "i.e", "approx", "fig", "inc", "jr", "sr":
		return true
	}
	return false
}
