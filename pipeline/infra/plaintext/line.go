package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const mostVisible = 256 // bytes

// Visible is what a reader sees of a line: without characters that show nothing, and with
// the wide and small forms of ASCII as ASCII. It is never empty for a line that is not.
func Visible(line string) string {
	i := ASCII(line)
	for i < len(line) && line[i] < utf8.RuneSelf {
		i++
	}
	if i == len(line) {
		return line
	}
	shown := make([]byte, 0, min(len(line), mostVisible+utf8.UTFMax)) // what a line begins like stands at its beginning
	for _, r := range line {
		if Invisible(r) || len(shown) == 0 && Overdrawn(r) { // on nothing, or on a space before
			continue
		}
		if shown = utf8.AppendRune(shown, r); len(shown) >= mostVisible {
			break
		}
	}
	if len(shown) == 0 {
		return line
	}
	return norm.NFKC.String(string(shown))
}

// Overdrawn reports whether a character is drawn over the one before it, or is a space.
func Overdrawn(r rune) bool { return unicode.In(r, unicode.M) || unicode.IsSpace(r) }

// mostName is how many words a name has, at most.
const mostName = 4

// LongName reports whether a speaker has more words than a name: it is quoted with what was said.
func LongName(speaker string) bool { return len(strings.Fields(speaker)) > mostName }
