package blob

import (
	"bufio"
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// stamps finds times as logs write them.
type stamps struct{ re *regexp.Regexp }

func newStamps() stamps { return stamps{stampPattern} }

var stampPattern = regexp.MustCompile(`\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?|` +
	`\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2} [+-]\d{4}|[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}|\b\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?`)

// find returns the first time in the beginning of a line, "" for none.
func (s stamps) find(l string) string {
	if l = l[:min(len(l), 120)]; !hasTime(l) {
		return ""
	}
	return s.re.FindString(l)
}

// in reports whether a line has a time in its beginning.
func (s stamps) in(l []byte) bool {
	l = l[:min(len(l), 120)]
	return hasTime(l) && s.re.Match(l)
}

// hasTime reports whether a text holds 12:34:56 in any digits, as every stamp does.
func hasTime[T string | []byte](l T) bool {
	for i := 2; i+5 < len(l); i++ {
		if l[i] == ':' && l[i+3] == ':' && digits(l[i-2:i]) && digits(l[i+1:i+3]) && digits(l[i+4:i+6]) {
			return true
		}
	}
	return false
}

func digits[T string | []byte](l T) bool {
	for i := range len(l) {
		if l[i] < '0' || l[i] > '9' {
			return false
		}
	}
	return true
}

// failureMarks are what an error's line holds, in lower case.
var failureMarks = [...]string{"error", "fatal", "panic", "exception", "traceback", "critical", "failed", "failure", "segfault", "emerg"}

// failure reports whether a line reads like an error. "error=0", "errors: 0" and
// "no error" do not.
func failure(text []byte) bool {
	lower := bytes.ToLower(text[:min(len(text), maxLine)])
	for _, mark := range failureMarks {
		for at := 0; ; {
			i := bytes.Index(lower[at:], []byte(mark))
			if i < 0 {
				break
			}
			start, end := at+i, at+i+len(mark)
			at = end
			tail := bytes.TrimLeft(lower[end:min(end+6, len(lower))], `s"':= `)
			none := len(tail) > 0 && tail[0] == '0' || bytes.HasPrefix(tail, []byte("nil")) || bytes.HasPrefix(tail, []byte("null")) ||
				bytes.HasSuffix(lower[:start], []byte("no ")) || bytes.HasSuffix(lower[:start], []byte("without "))
			if !none {
				return true
			}
		}
	}
	return false
}

// trailing reports whether a line belongs to the stack trace above it.
func trailing(text []byte, open bool) bool {
	if len(text) == 0 {
		return open
	}
	if text[0] == '\t' || text[0] == ' ' {
		return true
	}
	for _, p := range [...]string{"at ", "Caused by", "goroutine ", "Traceback ", "created by ", "During handling", "The above exception", "... ", "---> "} {
		if bytes.HasPrefix(text, []byte(p)) {
			return true
		}
	}
	if !open {
		return false
	}
	// A Go frame, main.run(0x1, …), or the last line of a Python trace, ValueError: …
	head, _, _ := bytes.Cut(text, []byte(" "))
	return bytes.IndexByte(head, '(') > 0 && bytes.IndexByte(head, '.') > 0 || bytes.HasSuffix(head, []byte("Error:")) || bytes.HasSuffix(head, []byte("Exception:"))
}

// logs is a log being read.
type logs struct {
	miner   *miner
	stamps  stamps
	stamped bool // its lines begin with a time: one without belongs to the line above
	total   int64
	first   *Line
	last    Line
	from    string
	to      string
	lastRaw []byte

	open     bool // a failure's block is being collected
	trace    bool // and it has begun to look like a stack trace
	block    block
	failed   *template
	failures []found
	known    map[uint64]int // failures by the shape of their block
	named    named

	lost   tally  // failures beyond those that are kept
	broken tally  // lines with a NUL
	blank  tally  // empty lines
	now    *tally // of the block that is being collected
}

// found is a failure with its stack trace; all its blocks are in its tally.
type found struct {
	Line
	of *template
}

const maxFailures = 512

func summariseLog(br *bufio.Reader, o Options) (Summary, error) {
	g := &logs{miner: newMiner(), stamps: newStamps(), known: map[uint64]int{}, named: newNamed(o.Query)}
	if err := each(br, g.add); err != nil {
		return Summary{}, err
	}
	g.close()
	return g.summary(o), nil
}

func (g *logs) add(l *line) {
	g.total++
	if len(l.text) == 0 && !g.open {
		g.blank.add(l)
		return
	}
	if bytes.IndexByte(l.text, 0) >= 0 {
		g.broken.add(l)
		return
	}
	if g.open && (trailing(l.text, g.trace) || g.stamped && !g.stamps.in(l.text)) {
		g.trace = true
		g.block.add(l)
		g.now.add(l)
		return
	}
	g.close()
	t := g.miner.add(l)
	counted := &t.tally
	if t.failure {
		counted = &tally{}
		g.now = counted
	}
	counted.add(l)
	g.named.add(l, counted)
	if g.first == nil {
		v := l.verbatim("first")
		v.from = counted
		g.first = &v
		g.from = g.stamps.find(v.Text)
		g.stamped = g.from != ""
	}
	g.lastRaw = append(g.lastRaw[:0], l.text[:min(len(l.text), maxLine)]...)
	g.last.Span = Span{l.start, l.start + int64(len(g.lastRaw))}
	g.last.raw, g.last.from = l.next-l.start, counted
	if t.failure {
		g.open, g.trace, g.failed = true, bytes.HasPrefix(l.text, []byte("Traceback ")) || bytes.HasPrefix(l.text, []byte("panic:")), t
		g.block.add(l)
	}
}

// close ends the failure that is open, and folds it when it was there before.
func (g *logs) close() {
	if !g.open {
		return
	}
	shape := shapeOf(g.block.text)
	span := Span{g.block.start, g.block.start + int64(len(g.block.text))}
	if i, ok := g.known[shape]; ok {
		g.failures[i].Count++
		g.failures[i].Last = &span
		g.failures[i].from.join(*g.now)
		g.now.into = g.failures[i].from
	} else if len(g.failures) < maxFailures {
		g.known[shape] = len(g.failures)
		f := found{g.block.line("error"), g.failed}
		f.Count, f.from = 1, g.now
		g.failures = append(g.failures, f)
	} else {
		g.lost.join(*g.now)
		g.now.into = &g.lost
	}
	g.block.reset()
	g.open, g.trace = false, false
}

// summary keeps first and last, failures, and a line of each of the largest templates.
func (g *logs) summary(o Options) Summary {
	out := Summary{Kind: Log}
	if g.first == nil {
		out.Title = "no lines"
		g.account(&out)
		return out
	}
	g.last.Text, g.last.Verbatim, g.last.Note = string(g.lastRaw), true, "last"
	g.to = g.stamps.find(g.last.Text)
	taken := map[int64]bool{}
	take := func(l Line) {
		if !taken[l.Span.Start] {
			taken[l.Span.Start] = true
			out.Lines = append(out.Lines, l)
		}
	}
	failures := g.errors(o)
	for _, f := range failures[:min(len(failures), max(1, o.Lines/2))] {
		take(f)
	}
	take(*g.first)
	take(g.last)
	for _, l := range g.named.lines(g.total, max(1, (o.Lines-len(out.Lines))/2)) {
		take(l)
	}
	byCount := slices.Clone(g.miner.templates)
	words := wordsOf(o.Query)
	slices.SortStableFunc(byCount, func(a, b *template) int {
		return cmp.Or(cmp.Compare(overlap(words, b.first.Text), overlap(words, a.first.Text)), cmp.Compare(b.count, a.count))
	})
	for _, t := range byCount {
		if len(out.Lines) >= o.Lines {
			break
		}
		if t.failure {
			continue
		}
		l := t.first
		l.Note, l.Count, l.Pattern, l.from = "template", t.count, t.pattern(), &t.tally
		last := t.last
		l.Last = &last
		if t.count == 1 {
			l.Pattern, l.Last, l.Count = "", nil, 0
		}
		take(l)
	}
	g.mark(out.Lines)
	out.Title = g.title(len(failures))
	g.account(&out)
	return out
}

// errors are the failures: those about the query first, then those with a stack trace,
// then the most frequent.
func (g *logs) errors(o Options) []Line {
	list := make([]Line, len(g.failures))
	for i, f := range g.failures {
		list[i] = f.Line
		if f.Count > 1 && !strings.Contains(f.Text, "\n") {
			list[i].Pattern = f.of.pattern()
		}
		if f.Count == 1 {
			list[i].Count = 0
		}
	}
	words := wordsOf(o.Query)
	slices.SortStableFunc(list, func(a, b Line) int {
		return cmp.Or(cmp.Compare(overlap(words, b.Text), overlap(words, a.Text)),
			cmp.Compare(strings.Count(b.Text, "\n"), strings.Count(a.Text, "\n")), cmp.Compare(b.Count, a.Count))
	})
	return list
}

// mark gives the first line its template's count.
func (g *logs) mark(list []Line) {
	for i := range list {
		if list[i].Count > 0 || list[i].Note == "error" {
			continue
		}
		for _, t := range g.miner.templates {
			if t.first.Span.Start == list[i].Span.Start && t.count > 1 {
				last := t.last
				list[i].Count, list[i].Pattern, list[i].Last = t.count, t.pattern(), &last
			}
		}
	}
}

func (g *logs) title(failures int) string {
	title := count(g.total, "line", "lines") + ", " + count(int64(len(g.miner.templates)), "template", "templates")
	if failures > 0 {
		title += ", " + count(int64(failures), "kind of error", "kinds of errors")
	}
	if g.from != "" && g.to != "" {
		title += ", " + g.from + " to " + g.to
	}
	return title
}

// account names what is not shown: templates, errors, repetitions.
func (g *logs) account(out *Summary) {
	ends, long := settle(out.Lines)
	var rest, repeats, failed tally
	for _, t := range g.miner.templates {
		if t.tally.shown > 0 {
			repeats.join(t.tally)
		} else {
			rest.join(t.tally)
		}
	}
	for i := range g.failures {
		if t := g.failures[i].from; t.shown > 0 {
			repeats.join(*t)
		} else {
			failed.join(*t)
		}
	}
	failed.join(g.lost)
	out.drop(rest.field("lines of templates not shown"), repeats.field("lines like one shown"), failed.field("lines of errors not shown"),
		g.broken.field("lines that are not text"), g.blank.field("empty lines"), long, ends)
}
