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
	if err := each(br, d.add); err != nil {
		return Summary{}, err
	}
	d.flush()
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
			" −" + strconv.FormatInt(f.removed, 10) + " in " + count(f.hunks, "hunk", "hunks")})
	}
	words := wordsOf(o.Query)
	slices.SortStableFunc(runs, func(a, b Line) int {
		return cmp.Or(cmp.Compare(overlap(words, b.Text), overlap(words, a.Text)), cmp.Compare(len(a.Text), len(b.Text)))
	})
	out.Lines = append(out.Lines, runs[:min(len(runs), max(0, o.Lines-len(out.Lines)))]...)
	out.Title = count(int64(len(d.files))+d.further, "file", "files") + ", +" + strconv.FormatInt(added, 10) + " −" + strconv.FormatInt(removed, 10)
	if n := int64(len(d.files)-len(files)) + d.further; n > 0 {
		out.Title += ", " + strconv.FormatInt(n, 10) + " of the files not listed"
	}
	ends, long := settle(out.Lines)
	out.drop(d.context.field("lines of context"), d.changed.field("changed lines"), d.headers.field("lines of headers"), long, ends)
	return out, nil
}

func (d *diffs) add(l *line) {
	counted := &d.headers
	defer func() { counted.add(l) }()
	switch {
	case bytes.HasPrefix(l.text, []byte("diff --git ")):
		d.begin(l, lastField(l.text))
	case !d.inHunk && bytes.HasPrefix(l.text, []byte("+++ ")):
		name := lastPath(l.text[4:])
		if d.open == nil || d.open.hunks > 0 {
			d.begin(l, name)
		} else if name != "/dev/null" {
			d.open.name = name
		}
	case bytes.HasPrefix(l.text, []byte("@@ -")):
		d.flush()
		if d.open == nil {
			d.begin(l, "a file")
		}
		d.open.hunks++
		d.inHunk = true
	case d.inHunk && len(l.text) > 0 && (l.text[0] == '+' || l.text[0] == '-') && !d.header(l.text):
		if l.text[0] == '+' {
			d.open.added++
		} else {
			d.open.removed++
		}
		counted = d.changed
		d.run.add(l)
	case d.inHunk && bytes.HasPrefix(l.text, []byte("--- ")):
		d.flush()
		d.inHunk = false
	default:
		d.flush()
		counted = &d.context
	}
}

// header reports whether a line that begins with --- is the next file's header: a diff
// without "diff --git" lines has no other.
func (d *diffs) header(text []byte) bool {
	return bytes.HasPrefix(text, []byte("--- a/")) || bytes.HasPrefix(text, []byte("--- /dev/null"))
}

func (d *diffs) begin(l *line, name string) {
	d.flush()
	d.inHunk = false
	v := l.verbatim("")
	d.open = &change{name: name, span: v.Span}
	if len(d.files) == maxFiles {
		d.further++
		return
	}
	d.files = append(d.files, d.open)
}

func (d *diffs) flush() {
	if d.run.lines > 0 && d.open != nil && len(d.open.lines) < maxRuns {
		l := d.run.line("change")
		l.from = d.changed
		d.open.lines = append(d.open.lines, l)
	}
	d.run.reset()
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
	name = clip(strings.TrimSpace(name))
	for _, p := range []string{"a/", "b/"} {
		name = strings.TrimPrefix(name, p)
	}
	return name
}
