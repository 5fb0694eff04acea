package blob

import (
	"cmp"
	"slices"
	"strings"
)

// Parts of lines that are shown.
const (
	lineEnds   = "line ends"
	restOfLong = "rest of long lines"
)

// tally counts the lines of one sort, and those of them that a summary shows.
type tally struct {
	rows, bytes int64 // all lines, with their ends
	shown       int64 // of rows
	into        *tally
}

func (t *tally) countLine(l *line) {
	t.rows++
	t.bytes += l.next - l.start
}

func (t *tally) addTally(o tally) {
	t.rows += o.rows
	t.bytes += o.bytes
}

// subtractTally takes lines out that are counted elsewhere.
func (t *tally) subtractTally(o tally) {
	t.rows -= o.rows
	t.bytes -= o.bytes
}

// findRoot is the tally that this one was counted into.
func (t *tally) findRoot() *tally {
	for t.into != nil {
		t = t.into
	}
	return t
}

// subtractShownLines takes what lines show out of their tallies, which then count what is not shown,
// and returns what is not shown of these lines themselves.
func subtractShownLines(list []Line) (ends, long Field) {
	ends.Name = lineEnds
	long.Name = restOfLong
	for i := range list {
		l := &list[i]
		if !l.Verbatim || l.from == nil {
			continue
		}
		t := l.from.findRoot()
		rows := int64(strings.Count(l.Text, "\n")) + 1
		t.rows -= rows
		t.bytes -= l.raw
		t.shown += rows
		if rest := l.raw - int64(len(l.Text)); rest > 2 { // the end of a line, \r\n, is two bytes at most
			long.Bytes += rest
		} else {
			ends.Bytes += rest
		}
	}
	return ends, long
}

// makeField is what is left of a tally.
func (t *tally) makeField(name string) Field { return Field{Name: name, Count: t.rows, Bytes: t.bytes} }

// appendDroppedFields appends the fields that hold anything.
func (s *Summary) appendDroppedFields(fields ...Field) {
	for _, f := range fields {
		if f.Count > 0 || f.Bytes > 0 {
			s.Dropped = append(s.Dropped, f)
		}
	}
}

// countCoveredBytes is how many bytes the spans of verbatim lines cover.
func countCoveredBytes(list []Line) int64 {
	var spans []Span
	for i := range list {
		if list[i].Verbatim {
			spans = append(spans, list[i].Span)
		}
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	n := int64(0)
	end := int64(0)
	for _, s := range spans {
		n += max(0, s.End-max(s.Start, end))
		end = max(end, s.End)
	}
	return n
}
