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

// Named reports whether a text begins like what stands before the words of a speaker: a name, what may stand in
// brackets or as a time beside it, and a colon that is none of a time or an address.
func Named(text string) bool {
	text = strings.TrimLeftFunc(text[:min(mostBegin, len(text))], func(r rune) bool { return unicode.IsSpace(r) || Invisible(r) })
	first, _, _ := strings.Cut(text, "\n")
	line := Visible(strings.Join(strings.Fields(first), " "))
	for at := 0; at < len(line); {
		next := strings.IndexFunc(line[at:], isColon)
		if next < 0 {
			return false
		}
		next += at
		_, size := utf8.DecodeRuneInString(line[next:])
		at = next + size
		before, after := line[:next], line[at:]
		if strings.TrimFunc(before, isNothing) == "" || strings.HasPrefix(after, "//") || endsInDigit(before) && after != "" && unicode.IsDigit(rune(after[0])) {
			continue
		}
		name, _, _ := strings.Cut(before, "(")
		return !LongName(name)
	}
	return false
}

const mostBegin = 4 << 10 // bytes that are looked at for a name

func endsInDigit(text string) bool { return text != "" && unicode.IsDigit(rune(text[len(text)-1])) }

// isNothing reports whether a character before a colon names nobody.
func isNothing(r rune) bool { return isColon(r) || unicode.IsSpace(r) }

// colons are the characters that a reader takes for a colon, beside those that are one in another width.
const colons = ":\u2236\ua789\u02d0\u02f8\u0589\u05c3\ua4fd\u1366\u1361\u1804\u0903\u2237\u205a"

func isColon(r rune) bool { return strings.ContainsRune(colons, r) }
