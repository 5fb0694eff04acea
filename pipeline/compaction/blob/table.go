package blob

import (
	"bufio"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	maxColumns  = 256
	maxDistinct = 64 // different values of a column that are counted
)

// column is what a table has below one name.
type column struct {
	name      string
	empty     int64
	numbers   int64
	low, high extreme
	values    map[string]int64 // nil once there are too many
}

type extreme struct {
	value float64
	row   Line
}

// summariseTable keeps the header, the first row and the rows of the extremes.
func summariseTable(br *bufio.Reader, o Options) (Summary, error) {
	head, err := br.Peek(headSize)
	if len(head) == 0 {
		return Summary{Kind: Table, Title: "empty"}, ignoreEOF(err)
	}
	sep := findDelimiter(sampleLines(head))
	if sep == 0 {
		sep = ','
	}
	t := table{sep: string(sep), words: wordsOf(o.Query), counted: &tally{}}
	if err := visitLines(br, t.readTableRow); err != nil {
		return Summary{}, err
	}
	out := Summary{Kind: Table, Title: formatCount(t.rows, "row", "rows") + " of " + formatCount(int64(len(t.columns)), "column", "columns")}
	if t.header == nil {
		out.appendDroppedFields(t.rules.makeField("lines without cells"))
		return out, nil
	}
	taken := map[int64]bool{}
	take := func(l Line, note string) {
		if l.Text != "" && !taken[l.Span.Start] && len(out.Lines) < o.Lines {
			taken[l.Span.Start] = true
			l.Note = note
			l.from = t.counted
			out.Lines = append(out.Lines, l)
		}
	}
	take(*t.header, "header")
	take(t.first, "first row")
	slices.SortStableFunc(t.hits, func(a, b picked) int { return cmp.Compare(b.score, a.score) })
	for _, h := range t.hits[:min(len(t.hits), o.Lines/3)] {
		take(h.Line, "about the query")
	}
	for i := range t.columns {
		c := &t.columns[i]
		if c.numbers > 1 {
			take(c.low.row, "smallest "+c.name)
			take(c.high.row, "largest "+c.name)
		}
	}
	for i := range t.columns {
		if len(out.Lines) >= o.Lines {
			break
		}
		out.Lines = append(out.Lines, Line{Text: t.columns[i].describeColumn(t.rows), Span: t.header.Span, Note: "column"})
	}
	ends, long := subtractShownLines(out.Lines)
	out.appendDroppedFields(t.counted.makeField("rows"), t.rules.makeField("lines without cells"), long, ends)
	return out, nil
}

// table is a table being read.
type table struct {
	sep     string
	words   map[string]bool
	columns []column
	header  *Line
	first   Line
	rows    int64
	counted *tally // the header and the rows
	rules   tally  // what is neither
	hits    []picked
}

func (t *table) readTableRow(l *line) {
	text := string(l.text[:min(len(l.text), 16*maxLine)])
	if strings.TrimSpace(text) == "" || strings.Trim(text, "|-:+= \t") == "" {
		t.rules.countLine(l)
		return
	}
	t.counted.countLine(l)
	cells := t.splitRow(text)
	if t.header == nil {
		v := l.quoteLine("header")
		t.header = &v
		for _, name := range cells[:min(len(cells), maxColumns)] {
			t.columns = append(t.columns, column{name: name, values: map[string]int64{}})
		}
		return
	}
	t.rows++
	if t.rows == 1 {
		t.first = l.quoteLine("first row")
	}
	if score := countOverlap(t.words, text); score > 0 && len(t.hits) < maxPicked {
		t.hits = append(t.hits, picked{Line: l.quoteLine(""), score: score})
	}
	for i := range t.columns {
		cell := ""
		if i < len(cells) {
			cell = cells[i]
		}
		t.columns[i].countCell(cell, l)
	}
}

// splitRow splits a row; a quoted cell may hold the separator.
func (t *table) splitRow(row string) []string {
	if t.sep == "|" {
		row = strings.TrimSpace(row)
		row = strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|")
	}
	if !strings.Contains(row, `"`) {
		cells := strings.Split(row, t.sep)
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		return cells
	}
	var cells []string
	quoted := false
	from := 0
	for i := 0; i <= len(row); i++ {
		switch {
		case i == len(row), !quoted && strings.HasPrefix(row[i:], t.sep):
			cells = append(cells, strings.Trim(strings.TrimSpace(row[from:i]), `"`))
			from = i + len(t.sep)
		case row[i] == '"':
			quoted = !quoted
		}
	}
	return cells
}

func (c *column) countCell(cell string, l *line) {
	if cell == "" {
		c.empty++
		return
	}
	if x, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimPrefix(cell, "$"), "%"), 64); err == nil && unicode.IsDigit(rune(cell[len(cell)-1])) {
		c.numbers++
		if c.numbers == 1 || x < c.low.value {
			c.low = extreme{x, l.quoteLine("")}
		}
		if c.numbers == 1 || x > c.high.value {
			c.high = extreme{x, l.quoteLine("")}
		}
	}
	if c.values != nil {
		c.values[cell]++
		if len(c.values) > maxDistinct {
			c.values = nil
		}
	}
}

// describeColumn says what a column holds.
func (c *column) describeColumn(rows int64) string {
	text := c.name + ": "
	switch {
	case c.numbers > 0 && c.numbers == rows-c.empty:
		text += "numbers, " + formatNumber(c.low.value) + " to " + formatNumber(c.high.value)
	case c.values == nil:
		text += "texts, more than " + strconv.Itoa(maxDistinct) + " different"
	default:
		names := make([]string, 0, len(c.values))
		for v := range c.values {
			names = append(names, v)
		}
		slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(c.values[b], c.values[a]), strings.Compare(a, b)) })
		text += formatCount(int64(len(names)), "value", "values")
		for i, v := range names[:min(len(names), 4)] {
			text += []string{": ", ", "}[min(i, 1)] + clipText(v) + " ×" + strconv.FormatInt(c.values[v], 10)
		}
	}
	if c.empty > 0 {
		text += ", " + strconv.FormatInt(c.empty, 10) + " empty"
	}
	return text
}
