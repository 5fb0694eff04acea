package terminal

import (
	"fmt"
	"strings"

	"satchel/pipeline/language"
)

// OneLine puts a text on one line of at most limit characters.
func OneLine(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// Excerpt is the beginning of a text on one line, fit for a terminal.
func Excerpt(text string, most int) string { return OneLine(language.Shown(text), most) }

// Plural says how many there are of something: "1 item", "2 items".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
