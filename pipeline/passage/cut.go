package passage

import (
	"strings"
	"unicode/utf8"

	"satchel/schemas"
)

// The sizes of passages, in tokens as tokens estimates them.
const (
	aim      = 110 // blocks are joined up to this
	longest  = 176 // a longer block is cut at its lines
	declared = 154 // a shorter declaration is one passage
	entry    = 25  // a longer entry of a list is a passage of its own
	entryAim = 160 // an entry is cut only when it is longer than this by as much as a block
)

// shortLines is how many lines a declaration may have and be one passage.
const shortLines = 14

// part is a passage: a part of the content, or of the comment before it, or both.
type part struct {
	span schemas.Span // of the content; empty: the comment alone
	doc  schemas.Span // of the comment
}

// block is lines that stand together.
type block struct {
	span schemas.Span
	own  bool // not to be joined with others
}

// tokens is about how many tokens a text of n bytes has.
func tokens(n int) int { return max(1, n/4) }

func (b block) tokens() int { return tokens(b.span.End - b.span.Start) }

// parts cuts an item. They are in order and do not overlap.
func (s *source) parts(text string) []part {
	var out []part
	switch s.kind {
	case schemas.KindCode:
		return s.codeParts(text)
	case schemas.KindCommit:
		out = contents(join(blocks(text, s.title, false), aim, text))
	default:
		out = contents(join(blocks(text, s.title, true), aim, text))
	}
	if len(out) == 0 {
		out = []part{{span: schemas.Span{End: len(text)}}}
	}
	return out
}

func contents(list []block) []part {
	out := make([]part, len(list))
	for i, b := range list {
		out[i].span = b.span
	}
	return out
}

// codeParts cuts a declaration and the comment before it.
func (s *source) codeParts(text string) []part {
	lines := 1 + strings.Count(strings.TrimRight(text, "\n"), "\n")
	if s.doc != "" {
		lines += 1 + strings.Count(s.doc, "\n")
	}
	if lines <= shortLines && tokens(len(text)+len(s.doc)) <= declared {
		return []part{{span: schemas.Span{End: len(text)}, doc: schemas.Span{End: len(s.doc)}}}
	}
	body := join(blocks(text, 0, false), aim, text)
	if s.doc == "" {
		return contents(body)
	}
	comment := []block{{span: schemas.Span{End: len(s.doc)}}}
	if comment[0].tokens() > longest {
		comment = join(blocks(s.doc, 0, false), aim, s.doc)
	}
	var out []part
	for _, b := range comment {
		out = append(out, part{doc: b.span})
	}
	if len(comment) == 1 && len(body) > 0 && comment[0].tokens()+body[0].tokens() <= aim {
		out[0].span, body = body[0].span, body[1:]
	}
	return append(out, contents(body)...)
}

// blocks are the lines from a place on, parted at empty lines and, in a document, before each
// entry of a list. What stands in a fence stays together.
func blocks(text string, from int, document bool) []block {
	var out []block
	open, fence, listed := -1, false, false
	end := func(at int) {
		if open >= 0 {
			b := block{span: schemas.Span{Start: open, End: at}}
			b.own = listed && b.tokens() > entry
			out = append(out, b)
		}
		open, listed = -1, false
	}
	last := from
	for at := from; at < len(text); {
		next := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			next = at + n + 1
		}
		line := strings.TrimRight(text[at:next], " \t\r\n")
		bare := strings.TrimSpace(line)
		marks := document && (strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~"))
		switch {
		case bare == "" && !fence:
			end(last)
		case document && !fence && isEntry(line):
			end(last)
			open, listed = at, true
		case open < 0:
			open = at
		}
		if marks {
			fence = !fence
		}
		if bare != "" {
			last = at + len(line)
		}
		at = next
	}
	end(last)
	return out
}

// isEntry reports whether a line begins an entry of a list that is in no other entry.
func isEntry(line string) bool {
	if line != "" && (line[0] == ' ' || line[0] == '\t') {
		line = line[1:]
	}
	rest := strings.TrimLeft(line, "0123456789")
	switch {
	case len(rest) < 2:
		return false
	case len(rest) == len(line):
		return strings.IndexByte("-*+", rest[0]) >= 0 && (rest[1] == ' ' || rest[1] == '\t')
	}
	return (rest[0] == '.' || rest[0] == ')') && (rest[1] == ' ' || rest[1] == '\t')
}

// join joins neighbours up to a size and cuts the long ones.
func join(list []block, most int, text string) []block {
	var out []block
	for _, b := range list {
		limit := longest
		if b.own {
			limit = entryAim * longest / aim
		}
		if b.tokens() > limit {
			out = append(out, lines(b, limit*aim/longest, text)...)
			continue
		}
		if n := len(out) - 1; n >= 0 && !b.own && !out[n].own && out[n].tokens()+b.tokens() <= most {
			out[n].span.End = b.span.End
			continue
		}
		out = append(out, b)
	}
	return out
}

// lines cuts a block at its lines, and a line that is longer than a passage at its sentences.
func lines(b block, most int, text string) []block {
	var out []block
	cur := schemas.Span{Start: b.span.Start, End: b.span.Start}
	flush := func() {
		if strings.TrimSpace(text[cur.Start:cur.End]) != "" {
			out = append(out, block{span: schemas.Span{Start: cur.Start, End: cur.End}, own: true})
		}
		cur.Start = cur.End
	}
	for cur.End < b.span.End {
		end := b.span.End
		if n := strings.IndexByte(text[cur.End:b.span.End], '\n'); n >= 0 {
			end = cur.End + n + 1
		}
		if tokens(end-cur.End) > longest {
			end = cur.End + sentence(text[cur.End:end], 4*most)
		}
		if tokens(end-cur.Start) > most {
			flush()
		}
		cur.End = end
	}
	flush()
	if n := len(out) - 1; n > 0 && out[n].tokens() <= entry { // what is left over is no passage of its own
		out[n-1].span.End = out[n].span.End
		out = out[:n]
	}
	for i := range out { // a span ends with its last line, not behind it
		s := &out[i].span
		s.End = s.Start + len(strings.TrimRight(text[s.Start:s.End], " \t\r\n"))
	}
	return out
}

// sentence returns where the text is to be cut, before n bytes: behind a sentence, or a word.
func sentence(text string, n int) int {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	head := text[:n]
	for _, mark := range []string{". ", "; ", " "} {
		if at := strings.LastIndex(head, mark); at > n/3 {
			return at + len(mark)
		}
	}
	return n
}
