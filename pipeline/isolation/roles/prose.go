package roles

import (
	"regexp"
	"strings"

	"satchel/schemas"
)

var (
	codeBegins = regexp.MustCompile(`^(?:(?:func|def|class|package|import|from|type|var|const|let|return|public|private|protected|static|struct|interface|enum|impl|fn|use|namespace|template|export|async|elif|switch|case)\b.*(?:[{}()\[\];=:"]|$)|#include\b|#!|//|/\*|<\w+[^>]*>|[})\];]|@\w+|\$ |SELECT\b|INSERT\b|UPDATE\b|CREATE\b)`)
	codeEnds   = regexp.MustCompile(`(?:[{;]|\)\s*:|=>|\($|,\s*//.*)$`)
	codeHolds  = regexp.MustCompile(`:=|==|!=|&&|\|\||=>|->|\+=|\w\(\w*\)\s*[;{]|\bif err\b|</\w+>|::`)
	prosaic    = regexp.MustCompile(`^\p{Lu}[\p{L}'’-]*,?(?:\s+[\p{L}\p{N}'’"“(-][^\s{}]*){3,}.*[.!?)"”]$`)
)

// codeLine reports whether a line is of a program and not of a text about one.
func codeLine(text string) bool {
	text = strings.TrimSpace(text)
	switch {
	case codeEnds.MatchString(text):
		return true
	case prosaic.MatchString(text):
		return false
	}
	return codeBegins.MatchString(text) && !wordy(text) || codeHolds.MatchString(text)
}

// wordy reports whether a text is six words or more that are letters alone, as of a
// sentence that begins with what is a keyword elsewhere.
func wordy(text string) bool {
	n := 0
	for _, w := range strings.Fields(text) {
		if strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,'’") == "" {
			n++
		}
	}
	return n >= 6 && !strings.ContainsAny(text, "{}();=")
}

var (
	// wrapped finds where a line of prose goes on in the next one.
	wrapped = regexp.MustCompile(`(\S[ \t]*)(\r?\n[ \t]*)(?:[^\s\-*+>|#…` + "`" + `/\d]|\d+[^.)\d\s])`)
	// continued finds where a comment goes on in the next line.
	continued = regexp.MustCompile(`(?m)^([ \t]*(?://+|#+|\*)[^\n]*\S)([ \t]*\r?\n[ \t]*(?://+|#+|\*)[ \t]*)\S`)
	// constant finds a name that is given a value.
	constant = regexp.MustCompile(`^(?:(?:export|pub|public|private|static|final|readonly|const|var|let|val)\s+)*[A-Za-z_]\w*(?:\s*:\s*[\w\[\]<>&']+|\s+[\w.\[\]*]+)?\s*=\s*[-+]?["'\w(\[].*$`)
)

// unwrapped returns a text with the lines joined that wrap one sentence, and as many bytes: spans
// of the one are spans of the other. The title of a commit or a section stays by itself.
func unwrapped(kind schemas.Kind, text string) string {
	joins, from := wrapped, 0
	switch kind {
	case schemas.KindCode:
		joins = continued
	case schemas.KindCommit, schemas.KindKnowledge:
		if first, _, more := strings.Cut(text, "\n"); more && !strings.ContainsAny(first[max(0, len(first)-1):], ".,;:") {
			from = len(first) + 1
		}
	default:
		return text
	}
	out := []byte(text)
	for from < len(text) {
		m := joins.FindSubmatchIndex(out[from:])
		if m == nil {
			break
		}
		for i := from + m[4]; i < from+m[5]; i++ {
			out[i] = ' '
		}
		if kind != schemas.KindCode { // else the joined line is looked at again
			from += m[5]
		}
	}
	return string(out)
}

// onOneLine returns a quoted text on one line, without the marks of comments and of an entry of
// a list.
func onOneLine(text string) string {
	text = strings.Join(strings.Fields(unwrapped(schemas.KindCode, text)), " ")
	for _, mark := range []string{"// ", "# ", "* ", "- "} {
		text = strings.TrimPrefix(text, mark)
	}
	return text
}

// headed returns the heading of Markdown that a line is, "" when it is none.
func headed(text string) string {
	rest := strings.TrimLeft(strings.TrimSpace(text), "#")
	if n := len(strings.TrimSpace(text)) - len(rest); n == 0 || n > 6 || !strings.HasPrefix(rest, " ") {
		return ""
	}
	return strings.TrimSpace(rest)
}

// answers reports whether a sentence of an item can be an answer: no code, no question, no
// heading, and not the title of a commit, its first line, which names a change and says
// nothing of it. Of code, whole sentences of its comments answer, and names that are given a
// value.
func answers(kind schemas.Kind, text string, first bool) bool {
	switch {
	case len(text) < shortestSentence || len(text) > longestSentence || strings.HasSuffix(text, "?") || kind != schemas.KindCode && headed(text) != "":
		return false
	case kind == schemas.KindCommit && first, kind == schemas.KindCode && !comment(text) && !constant.MatchString(text):
		return false
	case kind == schemas.KindCode:
		return true
	}
	return !codeLine(text)
}

// toolAsked finds that a question is about what to call, or how to do something.
var toolAsked = regexp.MustCompile(`(?i)\b(?:tools?|functions?|commands?|apis?|endpoints?|scripts?|call|invoke|how (?:do|can|could|should|would|to))\b`)

// asksForTool reports whether the signature of a tool can answer a question.
func asksForTool(question string) bool { return toolAsked.MatchString(question) }

// comment reports whether a line of code is one of its comments, and a whole sentence.
func comment(text string) bool {
	if !strings.HasSuffix(text, ".") {
		return false
	}
	for _, mark := range []string{"//", "#", "*", "/*", "--", `"""`} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			return !codeLine(rest)
		}
	}
	return false
}
