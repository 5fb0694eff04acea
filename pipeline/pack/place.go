package pack

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pathPlace finds a path and line, or a path and "›", at the beginning of a line, as package passage prints them before
// a document or code.
var pathPlace = regexp.MustCompile(`^(?:[^›]+:\d+ ›|[^›]*\.\pL\w* ›|(?:[^\s:]*/\S*|\S*\.\pL\w*|\S*/[^:]*\.\pL\w*):\d+(?:\s|$))`)

// commitPlace finds what package passage prints before a commit: its sha or its date, or both, and who wrote it.
var commitPlace = regexp.MustCompile(`(?i)^commit (?:[0-9a-f]{7,40}|\d{4}-\d\d-\d\d)(?: [^:]*)?:(?:\s|$)`)

// isPlace reports whether a line, as a reader sees it, begins like the place that stands before passages. The address
// of a server is none, nor is what has a backslash before it.
func isPlace(line string) bool {
	if strings.HasPrefix(line, `\`) || !strings.Contains(line, ":") && !strings.Contains(line, "›") {
		return false
	}
	line = spaced(line)
	path := pathPlace.FindString(line)
	return path != "" && !strings.Contains(path, "://") || commitPlace.MatchString(line)
}

// mostName is how many words a name has, at most.
const mostName = 4

// longName reports whether a speaker has more words than a name: it is quoted with what was said.
func longName(speaker string) bool { return len(strings.Fields(speaker)) > mostName }

// beginsWithName reports whether a text begins like what stands before the words of a speaker: a name, what may stand in
// brackets behind it, and a colon that is none of a time, an address or a path.
func beginsWithName(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	line := visible(first)
	at := strings.IndexFunc(line, isColon)
	if at <= 0 {
		return false
	}
	_, size := utf8.DecodeRuneInString(line[at:])
	if next, _ := utf8.DecodeRuneInString(line[at+size:]); next == '/' || unicode.IsDigit(next) {
		return false
	}
	name, _, _ := strings.Cut(line[:at], "(")
	return name != "" && !longName(name)
}

// colons are the characters that a reader takes for a colon, beside those that are one in another width.
const colons = ":\u2236\ua789\u02d0\u02f8\u0589\u05c3"

func isColon(r rune) bool { return strings.ContainsRune(colons, r) }
