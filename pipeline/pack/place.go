package pack

import (
	"regexp"
	"strings"
)

// pathPlace finds a path and line, or a path and "›", at the beginning of a line, as package passage prints them before
// a document or code.
var pathPlace = regexp.MustCompile(`^(?:[^›]+:\d+ ›|[^›]*\.\pL\w* ›|(?:[^\s:]*/\S*|\S*\.\pL\w*|\S*/[^:]*\.\pL\w*):\d+(?:\s|$))`)

// commitPlace finds what package passage prints before a commit: its sha or its date, or both, and who wrote it.
var commitPlace = regexp.MustCompile(`(?i)^commit (?:[0-9a-f]{7,40}|\d{4}-\d\d-\d\d)(?: [^:]*)?:(?:\s|$)`)

// isPlace reports whether a line, as a reader sees it, begins like the place that is shown before passages. The address
// of a server is none, nor is what has a backslash before it.
func isPlace(line string) bool {
	line = collapseSpaces(line)
	if strings.HasPrefix(line, `\`) || !mayPlace(line) {
		return false
	}
	path := pathPlace.FindString(line)
	return path != "" && !strings.Contains(path, "://") || commitPlace.MatchString(line)
}

// mayPlace reports whether a line has what every place has: it costs less than to look for one.
func mayPlace(line string) bool {
	if len(line) >= len("commit ") && strings.EqualFold(line[:len("commit ")], "commit ") || strings.Contains(line, "›") {
		return true
	}
	word, _, _ := strings.Cut(line, " ")
	return strings.ContainsAny(word, "/.") && strings.Contains(line, ":")
}
