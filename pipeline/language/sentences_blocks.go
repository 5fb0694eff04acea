package language

import (
	"strings"
	"unicode/utf8"

	"satchel/schemas"
)

// The sizes of blocks, in tokens as tokens estimates them.
const (
	BlockAim     = 110 // blocks are joined up to this
	LongestBlock = 176 // a longer block is cut at its lines

	entry    = 25  // a longer entry of a list is a block of its own
	entryAim = 160 // an entry is cut only when it is longer than this by as much as a block
)

// block is lines that stand together.
type block struct {
	span schemas.Span
	own  bool // not to be joined with others
}

// estimateTokens is about how many tokens a text of n bytes has.
func estimateTokens(n int) int { return max(1, n/4) }

func (b block) countTokens() int { return estimateTokens(b.span.End - b.span.Start) }

// Blocks returns the pieces of a text, from a place on, that stand together: lines between empty
// ones, and in a document the entries of a list and what stands in a fence. Short ones are joined
// with their neighbours, long ones are cut at their lines, and lines at their sentences.
func Blocks(text string, from int, document bool) []schemas.Span {
	var out []schemas.Span
	for _, b := range joinBlocks(splitBlocks(text, from, document), text) {
		out = append(out, b.span)
	}
	return out
}

// splitBlocks are the lines from a place on, parted at empty lines and, in a document, before each
// entry of a list. What stands in a fence stays together.
func splitBlocks(text string, from int, document bool) []block {
	var out []block
	open := -1
	fence := ""
	listed := false
	end := func(at int) {
		if open >= 0 {
			b := block{span: schemas.Span{Start: open, End: at}}
			b.own = listed && b.countTokens() > entry
			out = append(out, b)
		}
		open = -1
		listed = false
	}
	last := from
	for at := from; at < len(text); {
		next := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			next = at + n + 1
		}
		line := strings.TrimRight(text[at:next], " \t\r\n")
		bare := strings.TrimSpace(line)
		opens := ""
		if document && fence == "" {
			opens = fenceOf(strings.TrimLeft(bare, "-*+0123456789.) \t")) // an entry of a list may begin with it
		}
		switch {
		case bare == "" && fence == "":
			end(last)
		case document && fence == "" && isEntry(line):
			end(last)
			open = at
			listed = true
		case open < 0:
			open = at
		}
		if opens != "" || fence != "" && fenceOf(bare) == bare && strings.HasPrefix(bare, fence) {
			fence = opens
		}
		if bare != "" {
			last = at + len(line)
		}
		at = next
	}
	end(last)
	return out
}

// fenceOf is the mark by which a line begins or ends a fence, "" where it does neither.
func fenceOf(line string) string {
	if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return ""
	}
	return line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
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

// joinBlocks joins neighbours up to a size and cuts the long ones.
func joinBlocks(list []block, text string) []block {
	var out []block
	for _, b := range list {
		limit := LongestBlock
		if b.own {
			limit = entryAim * LongestBlock / BlockAim
		}
		if b.countTokens() > limit {
			out = append(out, cutAtLines(b, limit*BlockAim/LongestBlock, text)...)
			continue
		}
		if n := len(out) - 1; n >= 0 && !b.own && !out[n].own && out[n].countTokens()+b.countTokens() <= BlockAim {
			out[n].span.End = b.span.End
			continue
		}
		out = append(out, b)
	}
	return out
}

// cutAtLines cuts a block at its lines, and a line that is longer than a passage at its sentences.
func cutAtLines(b block, most int, text string) []block {
	var out []block
	cur := schemas.Span{Start: b.span.Start, End: b.span.Start}
	flush := func() {
		if strings.TrimSpace(text[cur.Start:cur.End]) != "" {
			out = append(out, block{span: schemas.Span{Start: cur.Start, End: cur.End}, own: true})
		}
		cur.Start = cur.End
	}
	line := cur.End // where the line ends
	for cur.End < b.span.End {
		if cur.End == line {
			line = b.span.End
			if n := strings.IndexByte(text[cur.End:b.span.End], '\n'); n >= 0 {
				line = cur.End + n + 1
			}
		}
		end := line
		if estimateTokens(end-cur.End) > LongestBlock {
			end = cur.End + findSentenceCut(text[cur.End:end], 4*most)
		}
		if estimateTokens(end-cur.Start) > most {
			flush()
		}
		cur.End = end
	}
	flush()
	if n := len(out) - 1; n > 0 && out[n].countTokens() <= entry { // what is left over is no passage of its own
		out[n-1].span.End = out[n].span.End
		out = out[:n]
	}
	for i := range out { // a span ends with its last line, not behind it
		s := &out[i].span
		s.End = s.Start + len(strings.TrimRight(text[s.Start:s.End], " \t\r\n"))
	}
	return out
}

// findSentenceCut returns where the text is to be cut, before n bytes: behind a sentence, or a word.
func findSentenceCut(text string, n int) int {
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
