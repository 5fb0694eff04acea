package language

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
	i := CountASCII(line)
	for i < len(line) && line[i] < utf8.RuneSelf {
		i++
	}
	if i == len(line) {
		return line
	}
	shown := make([]byte, 0, min(len(line), mostVisible+utf8.UTFMax)) // what a line begins like stands at its beginning
	for _, r := range line {
		if IsInvisible(r) || len(shown) == 0 && IsOverdrawn(r) { // on nothing, or on a space before
			continue
		}
		shown = utf8.AppendRune(shown, r)
		if len(shown) >= mostVisible {
			break
		}
	}
	if len(shown) == 0 {
		return line
	}
	return norm.NFKC.String(string(shown))
}

// IsOverdrawn reports whether a character is drawn over the one before it, or is a space.
func IsOverdrawn(r rune) bool { return unicode.In(r, unicode.M) || unicode.IsSpace(r) }

// mostName is how many words a name has, at most.
const mostName = 4

// IsLongName reports whether a speaker has more words than a name: it is quoted with what was said.
func IsLongName(speaker string) bool { return len(strings.Fields(speaker)) > mostName }

// writer stands behind a bracket where a pack says who wrote an item.
const writer = "written by"

// Unsigned returns a text with a backslash before each bracket behind which it names a writer as a pack does, "(written by …",
// however that is written. One that has a backslash stays as it is.
func Unsigned(text string) string {
	var out strings.Builder
	from := 0
	for i := 0; i < len(text); {
		b := text[i]
		n := 1
		if !mayOpen[b] {
			i++
			continue
		}
		opens := b < utf8.RuneSelf
		if !opens {
			var r rune
			r, n = utf8.DecodeRuneInString(text[i:])
			opens = unicode.Is(unicode.Ps, r)
		}
		if opens && namesWriter(text[i+n:]) && !strings.HasSuffix(text[:i], `\`) {
			out.WriteString(text[from:i] + `\`)
			from = i
		}
		i += n
	}
	if out.Len() == 0 {
		return text
	}
	return out.String() + text[from:]
}

// mayOpen has the bytes that a bracket may begin with.
var mayOpen = bracketBytes()

func bracketBytes() (out [256]bool) {
	out['('] = true
	out['['] = true
	out['{'] = true
	for b := utf8.RuneSelf; b < len(out); b++ {
		out[b] = true
	}
	return out
}

// namesWriter reports whether a text begins with what stands behind the bracket. A letter outside ASCII may look like any other;
// marks, tags and entities may stand between, but no bracket, so that no text is read from two of them.
func namesWriter(text string) bool {
	at := 0 // in writer
	for i := 0; i < len(text) && at < len(writer); {
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		switch end := tagEnds[r]; {
		case end != 0:
			tag, _, closed := strings.Cut(text[i:min(len(text), i+longestTag)], string(end))
			if !closed || strings.ContainsFunc(tag, isBracket) {
				return false
			}
			i += len(tag) + utf8.RuneLen(end)
			if writer[at] == ' ' {
				at++
			}
		case unicode.IsSpace(r):
			if writer[at] == ' ' {
				at++
			}
		case unicode.IsLetter(r):
			if writer[at] == ' ' {
				at++
			}
			if r < utf8.RuneSelf && unicode.ToLower(r) != rune(writer[at]) {
				return false
			}
			at++
		case unicode.IsDigit(r), isBracket(r):
			return false
		}
	}
	return at == len(writer)
}

func isBracket(r rune) bool { return unicode.In(r, unicode.Ps, unicode.Pe) }

// tagEnds are what a tag and an entity end with, by what they begin with.
var tagEnds = map[rune]rune{'<': '>', '&': ';'}

const longestTag = 32 // bytes
