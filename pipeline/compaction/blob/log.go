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

// findStamp returns the first time in the beginning of a line, "" for none.
func (s stamps) findStamp(l string) string {
	l = l[:min(len(l), 120)]
	if !hasTime(l) {
		return ""
	}
	return s.re.FindString(l)
}

// hasStamp reports whether a line has a time in its beginning.
func (s stamps) hasStamp(l []byte) bool {
	l = l[:min(len(l), 120)]
	return hasTime(l) && s.re.Match(l)
}

// hasTime reports whether a text holds 12:34:56 in any digits, as every stamp does.
func hasTime[T string | []byte](l T) bool {
	for i := 2; i+5 < len(l); i++ {
		if l[i] == ':' && l[i+3] == ':' && hasOnlyDigits(l[i-2:i]) && hasOnlyDigits(l[i+1:i+3]) && hasOnlyDigits(l[i+4:i+6]) {
			return true
		}
	}
	return false
}

func hasOnlyDigits[T string | []byte](l T) bool {
	for i := range len(l) {
		if l[i] < '0' || l[i] > '9' {
			return false
		}
	}
	return true
}

// failureMarks are what an error's line holds, in lower case.
var failureMarks = [...]string{"error", "fatal", "panic", "exception", "traceback", "critical", "failed", "failure", "segfault", "emerg"}

// isFailure reports whether a line reads like an error. "error=0", "errors: 0" and
// "no error" do not.
func isFailure(text []byte) bool {
	lower := bytes.ToLower(text[:min(len(text), maxLine)])
	for _, mark := range failureMarks {
		for at := 0; ; {
			i := bytes.Index(lower[at:], []byte(mark))
			if i < 0 {
				break
			}
			start := at + i
			end := at + i + len(mark)
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

// isTraceLine reports whether a line belongs to the stack trace above it.
func isTraceLine(text []byte, open bool) bool {
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
	if err := visitLines(br, g.readLogLine); err != nil {
		return Summary{}, err
	}
	g.endFailure()
	return g.buildLogSummary(o), nil
}

func (g *logs) readLogLine(l *line) {
	g.total++
	if len(l.text) == 0 && !g.open {
		g.blank.countLine(l)
		return
	}
	if bytes.IndexByte(l.text, 0) >= 0 {
		g.broken.countLine(l)
		return
	}
	if g.open && (isTraceLine(l.text, g.trace) || g.stamped && !g.stamps.hasStamp(l.text)) {
		g.trace = true
		g.block.joinLine(l)
		g.now.countLine(l)
		return
	}
	g.endFailure()
	t := g.miner.assignTemplate(l)
	counted := &t.tally
	if t.failure {
		counted = &tally{}
		g.now = counted
	}
	counted.countLine(l)
	g.named.countNamedWords(l, counted)
	if g.first == nil {
		v := l.quoteLine("first")
		v.from = counted
		g.first = &v
		g.from = g.stamps.findStamp(v.Text)
		g.stamped = g.from != ""
	}
	g.lastRaw = append(g.lastRaw[:0], l.text[:min(len(l.text), maxLine)]...)
	g.last.Span = Span{l.start, l.start + int64(len(g.lastRaw))}
	g.last.raw = l.next - l.start
	g.last.from = counted
	if t.failure {
		g.open, g.trace, g.failed = true, bytes.HasPrefix(l.text, []byte("Traceback ")) || bytes.HasPrefix(l.text, []byte("panic:")), t
		g.block.joinLine(l)
	}
}

// endFailure ends the failure that is open, and folds it when it was there before.
func (g *logs) endFailure() {
	if !g.open {
		return
	}
	shape := shapeOf(g.block.text)
	span := Span{g.block.start, g.block.start + int64(len(g.block.text))}
	if i, ok := g.known[shape]; ok {
		g.failures[i].Count++
		g.failures[i].Last = &span
		g.failures[i].from.addTally(*g.now)
		g.now.into = g.failures[i].from
	} else if len(g.failures) < maxFailures {
		g.known[shape] = len(g.failures)
		f := found{g.block.makeBlockLine("error"), g.failed}
		f.Count = 1
		f.from = g.now
		g.failures = append(g.failures, f)
	} else {
		g.lost.addTally(*g.now)
		g.now.into = &g.lost
	}
	g.block.resetBlock()
	g.open = false
	g.trace = false
}

// buildLogSummary keeps first and last, failures, and a line of each of the largest templates.
func (g *logs) buildLogSummary(o Options) Summary {
	out := Summary{Kind: Log}
	if g.first == nil {
		out.Title = "no lines"
		g.listOmittedLines(&out)
		return out
	}
	g.last.Text = string(g.lastRaw)
	g.last.Verbatim = true
	g.last.Note = "last"
	g.to = g.stamps.findStamp(g.last.Text)
	taken := map[int64]bool{}
	take := func(l Line) {
		if !taken[l.Span.Start] {
			taken[l.Span.Start] = true
			out.Lines = append(out.Lines, l)
		}
	}
	failures := g.rankFailures(o)
	for _, f := range failures[:min(len(failures), max(1, o.Lines/2))] {
		take(f)
	}
	take(*g.first)
	take(g.last)
	for _, l := range g.named.pickRareLines(g.total, max(1, (o.Lines-len(out.Lines))/2)) {
		take(l)
	}
	byCount := slices.Clone(g.miner.templates)
	words := wordsOf(o.Query)
	slices.SortStableFunc(byCount, func(a, b *template) int {
		return cmp.Or(cmp.Compare(countOverlap(words, b.first.Text), countOverlap(words, a.first.Text)), cmp.Compare(b.count, a.count))
	})
	for _, t := range byCount {
		if len(out.Lines) >= o.Lines {
			break
		}
		if t.failure {
			continue
		}
		l := t.first
		l.Note, l.Count, l.Pattern, l.from = "template", t.count, t.formatPattern(), &t.tally
		last := t.last
		l.Last = &last
		if t.count == 1 {
			l.Pattern = ""
			l.Last = nil
			l.Count = 0
		}
		take(l)
	}
	g.setTemplateCounts(out.Lines)
	out.Title = g.makeLogTitle(len(failures))
	g.listOmittedLines(&out)
	return out
}

// rankFailures are the failures: those about the query first, then those with a stack trace,
// then the most frequent.
func (g *logs) rankFailures(o Options) []Line {
	list := make([]Line, len(g.failures))
	for i, f := range g.failures {
		list[i] = f.Line
		if f.Count > 1 && !strings.Contains(f.Text, "\n") {
			list[i].Pattern = f.of.formatPattern()
		}
		if f.Count == 1 {
			list[i].Count = 0
		}
	}
	words := wordsOf(o.Query)
	slices.SortStableFunc(list, func(a, b Line) int {
		return cmp.Or(cmp.Compare(countOverlap(words, b.Text), countOverlap(words, a.Text)),
			cmp.Compare(strings.Count(b.Text, "\n"), strings.Count(a.Text, "\n")), cmp.Compare(b.Count, a.Count))
	})
	return list
}

// setTemplateCounts gives the first line its template's count.
func (g *logs) setTemplateCounts(list []Line) {
	for i := range list {
		if list[i].Count > 0 || list[i].Note == "error" {
			continue
		}
		for _, t := range g.miner.templates {
			if t.first.Span.Start == list[i].Span.Start && t.count > 1 {
				last := t.last
				list[i].Count, list[i].Pattern, list[i].Last = t.count, t.formatPattern(), &last
			}
		}
	}
}

func (g *logs) makeLogTitle(failures int) string {
	title := formatCount(g.total, "line", "lines") + ", " + formatCount(int64(len(g.miner.templates)), "template", "templates")
	if failures > 0 {
		title += ", " + formatCount(int64(failures), "kind of error", "kinds of errors")
	}
	if g.from != "" && g.to != "" {
		title += ", " + g.from + " to " + g.to
	}
	return title
}

// listOmittedLines names what is not shown: templates, errors, repetitions.
func (g *logs) listOmittedLines(out *Summary) {
	ends, long := subtractShownLines(out.Lines)
	var rest, repeats, failed tally
	for _, t := range g.miner.templates {
		if t.tally.shown > 0 {
			repeats.addTally(t.tally)
		} else {
			rest.addTally(t.tally)
		}
	}
	for i := range g.failures {
		if t := g.failures[i].from; t.shown > 0 {
			repeats.addTally(*t)
		} else {
			failed.addTally(*t)
		}
	}
	failed.addTally(g.lost)
	out.appendDroppedFields(rest.makeField("lines of templates not shown"), repeats.makeField("lines like one shown"), failed.makeField("lines of errors not shown"),
		g.broken.makeField("lines that are not text"), g.blank.makeField("empty lines"), long, ends)
}
