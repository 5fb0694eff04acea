package language

import (
	"regexp"
	"strings"
)

// references finds what looks like the mark [7] of an item, wide forms among it.
var references = regexp.MustCompile(`[\[［【〔〚⟦]([\s\p{Cf}]*[\p{Nd}\p{No}][\s\p{Cf}\p{Nd}\p{No},;:^–-]*)[\]］】〕〛⟧]`)

// breaks are the ends of lines, as any reader may take them.
var breaks = regexp.MustCompile("\r\n|[\n\r\v\f\u0085\u2028\u2029]")

// FindReference returns where the first thing stands that looks like the mark of an item, nil for none.
func FindReference(text string) []int { return references.FindStringIndex(text) }

// Unreferenced returns text with "(7)" for what looks like the mark [7] of an item.
func Unreferenced(text string) string { return references.ReplaceAllString(text, "($1)") }

// opens finds what begins a heading, a fence, a quotation or a rule of Markdown, or underlines a heading.
var opens = regexp.MustCompile("^[ \\t]*(?:#{1,6}(?:[ \\t]|$)|`{3}|~{3}|>|={2,}[ \\t]*$|(?:[-*_][ \\t]*){3,}$)")

// ListEntry is a text as one of several that stand below each other, each with a mark: its lines behind the first
// are indented so far that none is structure, the first is none either, and nothing in it looks like a mark.
func ListEntry(text string) string {
	lines := breaks.Split(Unreferenced(text), -1)
	if opens.MatchString(lines[0]) {
		lines[0] = `\` + strings.TrimLeft(lines[0], " \t")
	}
	for i := 1; i < len(lines); i++ {
		if lines[i] != "" {
			lines[i] = "    " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}
