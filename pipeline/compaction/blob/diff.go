package blob

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// change is the hunks of one file.
type change struct {
	name           string
	span           Span // its header
	added, removed int64
	hunks          int64
	lines          []Line // runs of changed lines
}

const (
	maxFiles = 2000
	maxRuns  = 64 // kept of a file
)

// diffs is a diff being read.
type diffs struct {
	files   []*change
	further int64
	context tally
	headers tally
	changed *tally
	run     block
	open    *change
	inHunk  bool
}

// summariseDiff keeps the changed lines, those about the query and of small files first.
func summariseDiff(br *bufio.Reader, o Options) (Summary, error) {
	d := &diffs{changed: &tally{}}
	if err := visitLines(br, d.readDiffLine); err != nil {
		return Summary{}, err
	}
	d.flushRun()
	out := Summary{Kind: Diff}
	var added, removed int64
	var runs []Line
	for _, f := range d.files {
		added += f.added
		removed += f.removed
		runs = append(runs, f.lines...)
	}
	files := d.files[:min(len(d.files), max(1, o.Lines/2))]
	for _, f := range files {
		out.Lines = append(out.Lines, Line{Span: f.span, Note: "file", Text: f.name + ": +" + strconv.FormatInt(f.added, 10) +
			" −" + strconv.FormatInt(f.removed, 10) + " in " + formatCount(f.hunks, "hunk", "hunks")})
	}
	words := wordsOf(o.Query)
	slices.SortStableFunc(runs, func(a, b Line) int {
		return cmp.Or(cmp.Compare(countOverlap(words, b.Text), countOverlap(words, a.Text)), cmp.Compare(len(a.Text), len(b.Text)))
	})
	out.Lines = append(out.Lines, runs[:min(len(runs), max(0, o.Lines-len(out.Lines)))]...)
	out.Title = formatCount(int64(len(d.files))+d.further, "file", "files") + ", +" + strconv.FormatInt(added, 10) + " −" + strconv.FormatInt(removed, 10)
	if n := int64(len(d.files)-len(files)) + d.further; n > 0 {
		out.Title += ", " + strconv.FormatInt(n, 10) + " of the files not listed"
	}
	ends, long := subtractShownLines(out.Lines)
	out.appendDroppedFields(d.context.makeField("lines of context"), d.changed.makeField("changed lines"), d.headers.makeField("lines of headers"), long, ends)
	return out, nil
}

func (d *diffs) readDiffLine(l *line) {
	counted := &d.headers
	defer func() { counted.countLine(l) }()
	switch {
	case bytes.HasPrefix(l.text, []byte("diff --git ")):
		d.beginFile(l, lastField(l.text))
	case !d.inHunk && bytes.HasPrefix(l.text, []byte("+++ ")):
		name := lastPath(l.text[4:])
		if d.open == nil || d.open.hunks > 0 {
			d.beginFile(l, name)
		} else if name != "/dev/null" {
			d.open.name = name
		}
	case bytes.HasPrefix(l.text, []byte("@@ -")):
		d.flushRun()
		if d.open == nil {
			d.beginFile(l, "a file")
		}
		d.open.hunks++
		d.inHunk = true
	case d.inHunk && len(l.text) > 0 && (l.text[0] == '+' || l.text[0] == '-') && !d.isFileHeader(l.text):
		if l.text[0] == '+' {
			d.open.added++
		} else {
			d.open.removed++
		}
		counted = d.changed
		d.run.joinLine(l)
	case d.inHunk && bytes.HasPrefix(l.text, []byte("--- ")):
		d.flushRun()
		d.inHunk = false
	default:
		d.flushRun()
		counted = &d.context
	}
}

// isFileHeader reports whether a line that begins with --- is the next file's header: a diff
// without "diff --git" lines has no other.
func (d *diffs) isFileHeader(text []byte) bool {
	return bytes.HasPrefix(text, []byte("--- a/")) || bytes.HasPrefix(text, []byte("--- /dev/null"))
}

func (d *diffs) beginFile(l *line, name string) {
	d.flushRun()
	d.inHunk = false
	v := l.quoteLine("")
	d.open = &change{name: name, span: v.Span}
	if len(d.files) == maxFiles {
		d.further++
		return
	}
	d.files = append(d.files, d.open)
}

func (d *diffs) flushRun() {
	if d.run.lines > 0 && d.open != nil && len(d.open.lines) < maxRuns {
		l := d.run.makeBlockLine("change")
		l.from = d.changed
		d.open.lines = append(d.open.lines, l)
	}
	d.run.resetBlock()
}

func lastField(text []byte) string {
	f := bytes.Fields(text)
	if len(f) == 0 {
		return "a file"
	}
	return lastPath(f[len(f)-1])
}

// lastPath is a path of a diff without its prefix and its date.
func lastPath(text []byte) string {
	name, _, _ := strings.Cut(string(text), "\t")
	name = clipText(strings.TrimSpace(name))
	for _, p := range []string{"a/", "b/"} {
		name = strings.TrimPrefix(name, p)
	}
	return name
}
