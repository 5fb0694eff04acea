package candidate

import (
	"strconv"
	"strings"

	"satchel/schemas"
)

// Extract is what stands for an item's content when the whole would take too much:
// lines of it, word for word and in order.
type Extract struct {
	Whole   schemas.Content // what it was taken from, as policy lets it be seen
	Before  int             // tokens of "speaker: text\n" with the whole
	After   int             // the same with the extract
	Stored  int             // the record's count, for when the whole comes back
	Lines   []Line
	Summary string // id of the kept summary that it goes with, "" for none
	Blob    bool   // lines of a log, a table, …: shown one below the other
	Quoted  bool   // passages: shown one below the other, and only what lies between them is marked
}

// ShowPart puts an extract in the place of the content.
func (c *Candidate) ShowPart(x *Extract) {
	x.Whole = c.Content
	x.Stored = c.ContentTokens
	c.Extract = x
	c.Content = schemas.TextContent(x.Text())
	c.ContentTokens = 0
}

// ShowWhole puts the whole back in the place of the extract, and reports whether there is one.
func (c *Candidate) ShowWhole() bool {
	x := c.Extract
	if x == nil {
		return false
	}
	c.Content = x.Whole
	c.ContentTokens = x.Stored
	c.Extract = nil
	return true
}

// Counted is the text of which records count the tokens: "speaker: text\n".
func Counted(speaker, text string) string {
	if speaker == "" {
		return text + "\n"
	}
	return strings.ReplaceAll(speaker, "\n", " ") + ": " + text + "\n"
}

// Quote is what stands before a quotation.
type Quote struct {
	Head      string // path and line, or commit, date and author; "" where policy hides it
	Signature string // of code that is not shown from its beginning
	Comment   string // of code: what its comment says, where the content does not have it
}

// Line is a piece of an extract.
type Line struct {
	Span    schemas.Span // of the whole's text
	Times   int          // how many lines of the whole it stands for; 0 and 1: itself
	Pattern string       // what those have in common, <*> for what differs
}

// What stands between the lines of an extract. Ellipsis also stands before the first
// and after the last one when something is left out there.
const (
	Ellipsis = "…"
	Between  = " … "
)

// Text is the extract as it is shown.
func (e *Extract) Text() string {
	whole := e.Whole.Text()
	var b strings.Builder
	end := 0
	for i, l := range e.Lines {
		switch {
		case e.Quoted && i > 0:
			b.WriteString(e.chooseSeparator(i))
		case e.Quoted:
		case e.Blob && i > 0:
			b.WriteByte('\n')
		case e.Blob:
		case l.Span.Start > end && i == 0:
			b.WriteString(Ellipsis + " ")
		case l.Span.Start > end:
			b.WriteString(Between)
		}
		if l.Times > 1 {
			b.WriteString(Like(int64(l.Times), whole[l.Span.Start:l.Span.End], l.Pattern))
		} else {
			b.WriteString(whole[l.Span.Start:l.Span.End])
		}
		end = l.Span.End
	}
	if end < len(whole) && !e.Quoted {
		b.WriteString(" " + Ellipsis)
	}
	return b.String()
}

// chooseSeparator stands before line i of a quotation. Behind a title nothing marks what is left out.
func (e *Extract) chooseSeparator(i int) string {
	if first := e.Lines[0].Span; i == 1 && first.Start == 0 && !strings.Contains(e.Whole.Text()[:first.End], "\n") {
		return "\n"
	}
	return "\n" + Ellipsis + "\n"
}

// Like is a line that stands for as many of a pattern: "300 lines like: GET {/orders/1}",
// with what differs between them in braces.
func Like(times int64, line, pattern string) string {
	var b strings.Builder
	b.WriteString(strconv.FormatInt(times, 10) + " lines like: ")
	want := strings.FieldsFunc(pattern, isBlankRune)
	all := len(want) == 1
	at := 0
	open := false // open: within braces
	for i := 0; at < len(line); i++ {
		from := at + len(line[at:]) - len(strings.TrimLeftFunc(line[at:], isBlankRune))
		to := len(line)
		if n := strings.IndexFunc(line[from:], isBlankRune); n >= 0 {
			to = from + n
		}
		varies := from < to && (all && want[0] == Varies || i < len(want) && want[i] == Varies)
		if open && !varies {
			b.WriteByte('}')
		}
		b.WriteString(line[at:from])
		if varies && !open {
			b.WriteByte('{')
		}
		b.WriteString(line[from:to])
		at = to
		open = varies
	}
	if open {
		b.WriteByte('}')
	}
	return b.String()
}

// Varies stands in a pattern for a token that differs between its lines.
const Varies = "<*>"

// isBlankRune is what separates the tokens of a line.
func isBlankRune(r rune) bool { return r == ' ' || r == '\t' }

// Gaps are the spans of the whole that the lines leave out, in order.
func (e *Extract) Gaps() []schemas.Span {
	var out []schemas.Span
	at := 0
	for _, l := range e.Lines {
		if l.Span.Start > at {
			out = append(out, schemas.Span{Start: at, End: l.Span.Start})
		}
		at = l.Span.End
	}
	if n := len(e.Whole.Text()); at < n {
		out = append(out, schemas.Span{Start: at, End: n})
	}
	return out
}

// Spans are the spans of the lines.
func (e *Extract) Spans() []schemas.Span {
	out := make([]schemas.Span, len(e.Lines))
	for i, l := range e.Lines {
		out[i] = l.Span
	}
	return out
}
