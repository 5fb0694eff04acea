package compaction

import (
	"strings"
	"unicode/utf8"

	"satchel/pipeline/language"
	"satchel/schemas"
)

// maxUnit is the longest unit in bytes: what has no sentence's end is cut at a space.
const maxUnit = 600

// splitUnits cuts a text into sentences and lines: spans without white space around them, in
// order, that hold everything but white space.
func splitUnits(text string) []schemas.Span {
	var out []schemas.Span
	for _, s := range language.Sentences(text) {
		for s.End-s.Start > maxUnit {
			cut := s.Start + maxUnit
			if space := strings.LastIndexByte(text[s.Start:cut], ' '); space > maxUnit/2 {
				cut = s.Start + space
			}
			for back := 0; back < utf8.UTFMax && !utf8.RuneStart(text[cut]); back++ { // what goes on for longer is no text
				cut--
			}
			from, to := language.TrimSpan(text, s.Start, cut)
			out = append(out, schemas.Span{Start: from, End: to})
			s.Start, _ = language.TrimSpan(text, cut, s.End)
		}
		if s.Start < s.End {
			out = append(out, s)
		}
	}
	return out
}
