package blob

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"satchel/pipeline/candidate"
)

// Kind is what a blob is.
type Kind string

// The kinds.
const (
	Log    Kind = "log"
	Search Kind = "search"
	JSON   Kind = "json"
	Table  Kind = "table"
	Diff   Kind = "diff"
	Tests  Kind = "tests"
	Text   Kind = "text"
	Binary Kind = "binary"
)

// Options steer a summary. The zero Options work.
type Options struct {
	Query string // what the reader looks for; picks passages and values
	Lines int    // of the summary at most, the longest blocks cut; default 48
	Kind  Kind   // taken for granted; default: detected
	// Output says that a program put it out: lines that are alike are a log then, even
	// without times and levels.
	Output bool
}

// Span is a half-open range [Start, End) of bytes of the blob.
type Span struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// Line is one line or block of a summary.
type Line struct {
	Text     string `json:"text"`
	Span     Span   `json:"span"`              // the bytes it is of
	Last     *Span  `json:"last,omitempty"`    // the last of those it stands for, with Count
	Count    int64  `json:"count,omitempty"`   // how many it stands for, itself included; 0 for one
	Pattern  string `json:"pattern,omitempty"` // of a log: what they have in common, <*> for what differs
	Verbatim bool   `json:"verbatim"`          // Text is the bytes of Span
	Note     string `json:"note,omitempty"`    // why it is here: error, first, largest price, …

	raw  int64  // bytes of the lines it is of, with their ends
	from *tally // what these lines are counted in
}

// Field is something that is not shown. Every byte of a blob is in the span of a verbatim
// line or in the bytes of a field. Of logs, tables, diffs, test reports and texts, every
// line is one of a verbatim line or in the count of a field.
type Field struct {
	Name  string `json:"name"`
	Count int64  `json:"count"` // lines, values, results; 0 for parts of what is shown
	Bytes int64  `json:"bytes,omitempty"`
}

// Summary is what a blob comes to.
type Summary struct {
	Kind    Kind    `json:"kind"`
	Title   string  `json:"title"` // what it is and how large, in one line
	Lines   []Line  `json:"lines"` // in the order of the blob
	Dropped []Field `json:"dropped"`
	Size    int64   `json:"size"` // bytes read
}

const (
	defaultLines = 48
	headSize     = 64 << 10 // bytes that detection looks at
	maxLine      = 4 << 10  // bytes kept of a line or block
)

// Summarise reads r to its end. The error is r's.
func Summarise(r io.Reader, o Options) (Summary, error) {
	if o.Lines <= 0 {
		o.Lines = defaultLines
	}
	in := &counted{r: r}
	br := bufio.NewReaderSize(in, headSize)
	head, err := br.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return Summary{}, fmt.Errorf("read blob: %w", err)
	}
	kind := o.Kind
	if kind == "" {
		kind = Detect(head, o.Output)
	}
	out, err := chooseSummariser(kind)(br, o)
	if err == nil {
		_, err = io.Copy(io.Discard, br)
	}
	if err != nil {
		return Summary{}, fmt.Errorf("read blob: %w", err)
	}
	out.Size = in.n
	out.Title = string(out.Kind) + " of " + bytesOf(in.n) + ": " + out.Title
	slices.SortStableFunc(out.Lines, func(a, b Line) int { return int(min(max(a.Span.Start-b.Span.Start, -1), 1)) })
	if out.Lines == nil {
		out.Lines = []Line{}
	}
	if out.Dropped == nil {
		out.Dropped = []Field{}
	}
	return out, nil
}

func chooseSummariser(k Kind) func(*bufio.Reader, Options) (Summary, error) {
	switch k {
	case Log:
		return summariseLog
	case Search:
		return summariseSearch
	case JSON:
		return summariseJSON
	case Table:
		return summariseTable
	case Diff:
		return summariseDiff
	case Tests:
		return summariseTests
	case Binary:
		return summariseBinary
	}
	return summariseText
}

// String renders a summary for a reader.
func (s *Summary) String() string {
	var b strings.Builder
	b.WriteString(s.Title)
	b.WriteByte('\n')
	for i := range s.Lines {
		l := &s.Lines[i]
		text := strings.TrimRight(l.Text, "\n")
		switch {
		case l.Count > 1 && l.Pattern != "":
			text = candidate.Like(l.Count, text, l.Pattern)
		case l.Count > 1 && l.Note == "error":
			text = strconv.FormatInt(l.Count, 10) + " like, but for numbers: " + text
		case l.Count > 1:
			text = "(" + strconv.FormatInt(l.Count, 10) + " times) " + text
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	if len(s.Dropped) > 0 {
		var parts []string
		for _, f := range s.Dropped {
			switch {
			case f.Count > 0:
				parts = append(parts, f.Name+" "+strconv.FormatInt(f.Count, 10))
			case f.Name == restOfLong:
				parts = append(parts, f.Name+" "+bytesOf(f.Bytes))
			}
		}
		if len(parts) > 0 {
			b.WriteString("left out: " + strings.Join(parts, ", ") + "\n")
		}
	}
	return b.String()
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n int64
}

// Read reads and counts.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func bytesOf(n int64) string {
	switch {
	case n >= 10<<20:
		return strconv.FormatInt(n>>20, 10) + " MiB"
	case n >= 10<<10:
		return strconv.FormatInt(n>>10, 10) + " KiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// formatCount says a number and what it counts.
func formatCount(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}
