package blob

import (
	"bufio"
	"bytes"
	"slices"
)

const keepBest = 4096 // scored lines that a text keeps while it is read

// alarm is the score that puts a line that reads like an error above those of the query.
const alarm = 1 << 10

// summariseText keeps the first and last line, one of each kind that reads like an error
// (a quarter of the lines at most), and those that say most about the query.
func summariseText(br *bufio.Reader, o Options) (Summary, error) {
	out := Summary{Kind: Text}
	words := wordsOf(o.Query)
	type scored struct {
		Line
		score int
	}
	var best []scored
	var last line
	var lastText []byte
	total := int64(0)
	counted := &tally{}
	failures := map[uint64]bool{}
	err := visitLines(br, func(l *line) {
		total++
		counted.countLine(l)
		if len(bytes.TrimSpace(l.text)) == 0 || bytes.IndexByte(l.text, 0) >= 0 {
			return
		}
		lastText = append(lastText[:0], l.text...)
		last = *l
		score := countOverlap(words, string(l.text[:min(len(l.text), maxLine)]))
		note := ""
		if len(failures) < max(1, o.Lines/4) && isFailure(l.text) && !failures[shapeOf(l.text)] {
			failures[shapeOf(l.text)] = true
			score = score + alarm
			note = "error"
		}
		if len(best) > 0 && score == 0 && len(best) >= o.Lines {
			return
		}
		v := l.quoteLine(note)
		v.from = counted
		best = append(best, scored{v, score})
		if len(best) > keepBest {
			slices.SortStableFunc(best[1:], func(a, b scored) int { return b.score - a.score })
			best = best[:o.Lines]
		}
	})
	if err != nil {
		return out, err
	}
	if len(best) > 0 {
		last.text = lastText
		end := last.quoteLine("last")
		end.from = counted
		best[0].Note = "first"
		if !slices.ContainsFunc(best, func(s scored) bool { return s.Span == end.Span }) {
			best = append(best, scored{end, 1 << 20})
		}
		slices.SortStableFunc(best[1:], func(a, b scored) int { return b.score - a.score })
	}
	for _, s := range best[:min(len(best), o.Lines)] {
		out.Lines = append(out.Lines, s.Line)
	}
	out.Title = formatCount(total, "line", "lines")
	ends, long := subtractShownLines(out.Lines)
	out.appendDroppedFields(counted.makeField("lines"), long, ends)
	return out, nil
}
