package assembly

import (
	"strings"

	lang "satchel/pipeline/language"
	"satchel/pipeline/pack"
)

// escapeStructure is a text of several lines in which no line is structure, an item's title or a
// list's mark among it. HTML comments, which could hide what follows, lose their opening.
func escapeStructure(text string) string {
	first, rest, more := strings.Cut(strings.ReplaceAll(pack.Plain(text), "<!--", `<\!--`), "\n")
	if !more {
		return first
	}
	var b strings.Builder
	b.WriteString(first + "\n")
	for line := range strings.Lines(rest) {
		b.WriteString(escapeFirst(line))
	}
	return b.String()
}

// withCode is a text without links and structure, but that its blocks of code stay as they are.
func withCode(text string) string {
	return pack.WithCode(text, func(prose string, first bool) string {
		prose = escapeStructure(pack.Unlinked(prose))
		if !first {
			prose = escapeFirst(prose)
		}
		return prose
	})
}

// escapeFirst keeps the first line, which begins a line, from being
// read as structure, whatever invisible characters are before it.
func escapeFirst(text string) string {
	if text == "" {
		return text
	}
	first, _, _ := strings.Cut(text, "\n")
	first = lang.Visible(first)
	if first == "" {
		return text
	}
	switch first[0] {
	case '#', '[', '`', '~', '=', '>', '<', '-', '*', '_', '+', '|':
		return `\` + text
	}
	return text
}

// flattenText is a text on one line.
func flattenText(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(lang.Unsigned(lang.Shown(text))), " "), "<!--", `<\!--`)
}

// makeLabel is a name on one line that holds nothing like a reference.
func makeLabel(text string) string { return flattenText(pack.Label(text)) }

// escapeAsterisks is a line between asterisks: it has none of its own.
func escapeAsterisks(text string) string { return strings.ReplaceAll(text, "*", `\*`) }

// makeCodeSpan is a code span.
func makeCodeSpan(text string) string {
	return "`" + strings.ReplaceAll(makeLabel(text), "`", "'") + "`"
}

// cleanLanguage is the info string of a fence: one word of harmless characters, in lower case.
func cleanLanguage(name string) string {
	name = strings.ToLower(name)
	if len(name) > longestLanguage || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789+#-") != "" {
		return ""
	}
	return name
}

// longestLanguage is how many bytes the name of a language has at most.
const longestLanguage = 32
