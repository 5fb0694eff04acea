package pack

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// Sentences yields the sentences of prose in a text, trimmed, each a substring of it,
// in order. They end where Unicode's text segmentation (UAX #29) says, in any script,
// and at line ends, but not after an abbreviation, an initial or a number that begins a
// list. Code, in a fence or by its looks, and headings are no sentences; the mark of a
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
	begin := 0
	segments := sentences.FromString(line)
	for segments.Next() {
		end := segments.End()
		s := strings.TrimSpace(line[begin:end])
		if end < len(line) && abbreviated(s) {
			continue
		}
		begin = end
		if s != "" && !yield(s) {
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
	for n < len(line) && n < 3 && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	if n > 0 && n+1 < len(line) && (line[n] == '.' || line[n] == ')') && line[n+1] == ' ' {
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
	marks, letters := 0, 0
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

// abbreviated reports whether a piece that ends in a full stop ends in an abbreviation
// or an initial, so that the sentence goes on.
func abbreviated(piece string) bool {
	before, ok := strings.CutSuffix(piece, ".")
	if !ok {
		return false
	}
	word := strings.TrimLeft(before[strings.LastIndexAny(before, " \u00a0(\"'“‘")+1:], "[")
	if r, size := utf8.DecodeRuneInString(word); size == len(word) && unicode.IsUpper(r) && word != "I" {
		return true
	}
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "no", "nr", "vs", "cf", "al", "e.g", "i.e", "approx", "fig", "eq", "vol", "pp", "p", "jr", "sr",
		"gen", "col", "sgt", "capt", "lt", "rev", "hon", "u.s", "u.k", "ph.d", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
		"bzw", "z.b", "d.h", "ca", "nº", "núm", "art", "sec", "dept", "est", "incl", "max", "min", "ref":
		return true
	}
	return false
}
