package passage

import (
	"strings"

	"satchel/pipeline/language"
	"satchel/schemas"
)

// declared is the size of a declaration, in tokens as tokens estimates them, that is one passage.
const declared = 154

// shortLines is how many lines a declaration may have and be one passage.
const shortLines = 14

// part is a passage: a part of the content, or of the comment before it, or both.
type part struct {
	span schemas.Span // of the content; empty: the comment alone
	doc  schemas.Span // of the comment
}

// estimateTokens is about how many tokens a text of n bytes has.
func estimateTokens(n int) int { return max(1, n/4) }

// splitParts cuts an item. They are in order and do not overlap.
func (s *source) splitParts(text string) []part {
	var out []part
	switch s.kind {
	case schemas.KindCode:
		return s.codeParts(text)
	case schemas.KindCommit:
		out = makeParts(language.Blocks(text, s.title, false))
	default:
		out = makeParts(language.Blocks(text, s.title, true))
	}
	if len(out) == 0 {
		out = []part{{span: schemas.Span{End: len(text)}}}
	}
	return out
}

func makeParts(list []schemas.Span) []part {
	out := make([]part, len(list))
	for i, span := range list {
		out[i].span = span
	}
	return out
}

// codeParts cuts a declaration and the comment before it.
func (s *source) codeParts(text string) []part {
	lines := 1 + strings.Count(strings.TrimRight(text, "\n"), "\n")
	if s.doc != "" {
		lines += 1 + strings.Count(s.doc, "\n")
	}
	if lines <= shortLines && estimateTokens(len(text)+len(s.doc)) <= declared {
		return []part{{span: schemas.Span{End: len(text)}, doc: schemas.Span{End: len(s.doc)}}}
	}
	body := language.Blocks(text, 0, false)
	if s.doc == "" {
		return makeParts(body)
	}
	comment := []schemas.Span{{End: len(s.doc)}}
	if estimateTokens(len(s.doc)) > language.LongestBlock {
		comment = language.Blocks(s.doc, 0, false)
	}
	var out []part
	for _, span := range comment {
		out = append(out, part{doc: span})
	}
	if len(comment) == 1 && len(body) > 0 && estimateTokens(comment[0].End-comment[0].Start)+estimateTokens(body[0].End-body[0].Start) <= language.BlockAim {
		out[0].span = body[0]
		body = body[1:]
	}
	return append(out, makeParts(body)...)
}
