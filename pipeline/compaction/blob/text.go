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
	total, bytesRead := int64(0), int64(0)
	failures := map[uint64]bool{}
	err := each(br, func(l *line) {
		total++
		bytesRead += l.end - l.start
		if len(bytes.TrimSpace(l.text)) == 0 || bytes.IndexByte(l.text, 0) >= 0 {
			return
		}
		lastText = append(lastText[:0], l.text...)
		last = *l
		score, note := overlap(words, string(l.text[:min(len(l.text), maxLine)])), ""
		if len(failures) < max(1, o.Lines/4) && failure(l.text) && !failures[shapeOf(l.text)] {
			failures[shapeOf(l.text)] = true
			score, note = score+alarm, "error"
		}
		if len(best) > 0 && score == 0 && len(best) >= o.Lines {
			return
		}
		best = append(best, scored{l.verbatim(note), score})
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
		end := last.verbatim("last")
		best[0].Note = "first"
		if best[len(best)-1].Span != end.Span {
			best = append(best, scored{end, 1 << 20})
		}
		slices.SortStableFunc(best[1:], func(a, b scored) int { return b.score - a.score })
	}
	shown := int64(0)
	for _, s := range best[:min(len(best), o.Lines)] {
		out.Lines = append(out.Lines, s.Line)
		shown += int64(len(s.Text))
	}
	out.Title = count(total, "line", "lines")
	if rest := total - int64(len(out.Lines)); rest > 0 && bytesRead > shown {
		out.Dropped = []Field{{Name: "lines", Count: rest, Bytes: bytesRead - shown}}
	}
	return out, nil
}
