package pack

import "strings"

// Plain returns text as a pack shows it: without control and direction-changing
// characters and empty lines, and with a backslash before every line that would be read
// as structure. The first line, which is behind something else, gets one when it
// begins like a heading, a reference or a fence.
func Plain(text string) string { return sanitiseText(text) }

// Label returns a speaker, title or id as a pack shows it before an item: on one line,
// and with "(7)" for what could be read as the reference [7].
func Label(text string) string { return makeLabel(text) }

// Unlisted returns text in which no line begins like an item of a Markdown list: the mark
// of one gets a backslash.
func Unlisted(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
		switch mark := line[digits:]; {
		case digits == 0 && isBullet(mark),
			digits > 0 && (strings.HasPrefix(mark, ". ") || strings.HasPrefix(mark, ") ")):
			b.WriteString(line[:digits] + `\` + mark)
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

func isBullet(mark string) bool {
	return strings.HasPrefix(mark, "- ") || strings.HasPrefix(mark, "* ") || strings.HasPrefix(mark, "+ ")
}

// Fence returns a code fence that is longer than any run of backquotes in text.
func Fence(text string) string {
	longest := 2
	run := 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}
