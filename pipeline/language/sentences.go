// It says where sentences end: where Unicode's text segmentation (UAX #29)
// says so, in any script, and at line ends, but not after an abbreviation, an initial or a
// number of up to three digits that begins a sentence, not within a German date, and not before
// a small letter. It is the one
// place that does, for what is summarised, compacted and quoted. Blocks says what stands together
// in documents and code.

package language

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"

	"satchel/schemas"
)

// Sentences returns the sentences and lines of a text, in order: spans of bytes without white
// space around them, which hold everything but white space.
func Sentences(text string) []schemas.Span {
	var out []schemas.Span
	start := 0
	for line := range strings.Lines(text) {
		for from, to := range SentencesOfLine(line) {
			out = append(out, schemas.Span{Start: start + from, End: start + to})
		}
		start += len(line)
	}
	return out
}

// SentencesOfLine yields the sentences of a line that is not broken further, as Split does.
func SentencesOfLine(line string) func(yield func(from, to int) bool) {
	return func(yield func(from, to int) bool) {
		begin := 0
		counted := 0
		marks := 0 // marks of emphasis are between begin and counted
		segments := sentences.FromString(line)
		for segments.Next() {
			end := max(begin, segments.End())
			if end > counted {
				marks = marks + strings.Count(line[counted:end], "**")
				counted = end
			}
			if strings.HasPrefix(line[end:], "**") && marks%2 == 1 {
				end += 2 // the emphasis ends with the sentence
			}
			from, to := TrimSpan(line, begin, end)
			if end < len(line) && goesOn(line[from:to], line[end:]) {
				continue
			}
			begin = end
			counted = end
			marks = 0
			if from < to && !yield(from, to) {
				return
			}
		}
	}
}

// TrimSpan narrows a span to what is not white space.
func TrimSpan(text string, from, to int) (int, int) {
	from = to - len(strings.TrimLeftFunc(text[from:to], unicode.IsSpace))
	return from, from + len(strings.TrimRightFunc(text[from:to], unicode.IsSpace))
}

// longestAbbreviation is how many bytes an abbreviation has without its last full stop.
const longestAbbreviation = 8

// goesOn reports whether a piece is no sentence yet.
func goesOn(piece, rest string) bool {
	if next, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, " \"'“‘([")); unicode.IsLower(next) {
		return true
	}
	before, ok := strings.CutSuffix(piece, ".")
	if !ok {
		return false
	}
	if len(before) <= 3 && strings.Trim(before, "0123456789") == "" {
		return true
	}
	word := strings.TrimLeft(before[strings.LastIndexAny(before, " \u00a0(\"'“‘")+1:], "[")
	if r, size := utf8.DecodeRuneInString(word); size == len(word) && unicode.IsUpper(r) && word != "I" {
		return true
	}
	return len(word) <= longestAbbreviation && Default().Is(abbreviated, strings.ToLower(word)) || word != "" && len(word) <= 2 && strings.Trim(word, "0123456789") == "" && beginsMonth(strings.TrimLeft(rest, " \t\u00a0"))
}

// beginsMonth reports whether a text begins with a month before whose name a number has a full stop.
func beginsMonth(text string) bool {
	return slices.ContainsFunc(Default().Words(dated), func(month string) bool {
		return strings.HasPrefix(strings.ToLower(text[:min(len(text), len(month))]), month)
	})
}
