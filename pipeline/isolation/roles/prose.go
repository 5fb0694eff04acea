package roles

import (
	"regexp"
	"strings"
	"unicode"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/sentences"
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

// piece is what may be quoted of a document, code or a commit, below the title or the heading
// that it stands under.
type piece struct {
	span  schemas.Span
	title *schemas.Span
}

// pieces are what may be quoted of a shown text: paragraphs, entries of a list, declarations. A
// paragraph that ends with a colon is quoted with what follows it.
func pieces(kind schemas.Kind, text string) []piece {
	var out []piece
	var title *schemas.Span
	document := kind != schemas.KindCode
	add := func(part schemas.Span) {
		open := false // the last piece announces the next one
		for _, span := range sentences.Blocks(text[:part.End], part.Start, document) {
			shown := text[span.Start:span.End]
			if len(shown) < shortestSentence || !strings.ContainsFunc(shown, unicode.IsLetter) {
				continue
			}
			if n := len(out) - 1; open && span.End-out[n].span.Start <= longestPiece {
				out[n].span.End = span.End
			} else {
				out = append(out, piece{span, title})
			}
			open = document && strings.HasSuffix(shown, ":")
		}
	}
	from, at, fence := 0, 0, false
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		heading := document && !fence && (headed(bare) != "" || at == 0 && len(line) < len(text) && titled(bare))
		if heading || bare == candidate.Ellipsis {
			add(schemas.Span{Start: from, End: at})
			from = at + len(line)
		}
		if heading {
			title = &schemas.Span{Start: at, End: at + len(strings.TrimRight(line, "\r\n"))}
		}
		if strings.HasPrefix(bare, "```") {
			fence = !fence
		}
		at += len(line)
	}
	add(schemas.Span{Start: from, End: len(text)})
	if len(out) == 0 && title != nil { // nothing but a title is shown
		out = []piece{{span: *title}}
	}
	return out
}

// longestPiece is the length in bytes that two joined pieces may have.
const longestPiece = 700

// titled reports whether the first line of a text is its title and no sentence.
func titled(line string) bool {
	return line != "" && !strings.ContainsAny(line[len(line)-1:], ".,;:!?")
}

// headed returns the heading of Markdown that a line is, "" when it is none.
func headed(text string) string {
	rest := strings.TrimLeft(strings.TrimSpace(text), "#")
	if n := len(strings.TrimSpace(text)) - len(rest); n == 0 || n > 6 || !strings.HasPrefix(rest, " ") {
		return ""
	}
	return strings.TrimSpace(rest)
}

// answers reports whether a sentence can be an answer: no code, no question, no heading.
func answers(text string) bool {
	return len(text) >= shortestSentence && len(text) <= longestSentence && !strings.HasSuffix(text, "?") && headed(text) == "" && !codeLine(text)
}

// toolAsked finds that a question is about what to call, or how to do something.
var toolAsked = regexp.MustCompile(`(?i)\b(?:tools?|functions?|commands?|apis?|endpoints?|scripts?|call|invoke|how (?:do|can|could|should|would|to))\b`)

// asksForTool reports whether the signature of a tool can answer a question.
func asksForTool(question string) bool { return toolAsked.MatchString(question) }
