package blob

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
)

// Verdicts of a test's line.
const (
	passed  = 'p'
	failed  = 'f'
	skipped = 's'
)

// verdictOf returns what a line says of a test, 0 for nothing.
func verdictOf(l string) rune {
	t := strings.TrimLeft(l, " \t")
	switch {
	case strings.HasPrefix(t, "--- PASS: "), strings.HasPrefix(t, "ok "), strings.HasPrefix(t, "ok\t"), strings.HasPrefix(t, "✓ "), strings.HasPrefix(t, "✔ "), strings.HasPrefix(t, "PASS "):
		if strings.Contains(l, "# SKIP") {
			return skipped
		}
		return passed
	case strings.HasPrefix(t, "--- FAIL: "), strings.HasPrefix(t, "not ok "), strings.HasPrefix(t, "✗ "), strings.HasPrefix(t, "✕ "), strings.HasPrefix(t, "FAIL\t"), strings.HasPrefix(t, "FAIL "):
		return failed
	case strings.HasPrefix(t, "--- SKIP: "):
		return skipped
	case strings.HasPrefix(t, "test ") && strings.HasSuffix(t, " ... ok"), strings.Contains(t, "::") && strings.Contains(t, " PASSED"):
		return passed
	case strings.HasPrefix(t, "test ") && strings.HasSuffix(t, " ... FAILED"), strings.HasPrefix(t, "FAILED ") && strings.Contains(t, "::"), strings.Contains(t, "::") && strings.Contains(t, " FAILED"):
		return failed
	case strings.HasPrefix(t, "test ") && strings.HasSuffix(t, " ... ignored"), strings.Contains(t, "::") && strings.Contains(t, " SKIPPED"):
		return skipped
	}
	return 0
}

// report is a test report being read.
type report struct {
	pass, fail, skip int64
	before           block // what a test has printed so far; its failure begins with it
	failure          block
	open             bool // lines belong to a failure
	section          bool // until the section ends, whatever the lines are
	xml              bool // inside a <testcase>
	failures         []Line
	totals           []Line
	counted          struct{ pass, skip, fail, total, other tally }
}

// summariseTests keeps failures whole and counts the rest.
func summariseTests(br *bufio.Reader, o Options) (Summary, error) {
	r := &report{}
	if err := each(br, r.add); err != nil {
		return Summary{}, err
	}
	r.close()
	r.flush(&r.counted.other)
	out := Summary{Kind: Tests}
	for _, n := range []struct {
		count int64
		what  string
	}{{r.fail, "failed"}, {r.pass, "passed"}, {r.skip, "skipped"}} {
		if out.Title != "" {
			out.Title += ", "
		}
		out.Title += strconv.FormatInt(n.count, 10) + " " + n.what
	}
	room := max(1, o.Lines-min(len(r.totals), o.Lines/4))
	out.Lines = append(out.Lines, r.failures[:min(len(r.failures), room)]...)
	out.Lines = append(out.Lines, r.totals[max(0, len(r.totals)-(o.Lines-len(out.Lines))):]...)
	ends, long := settle(out.Lines)
	c := &r.counted
	out.drop(c.pass.field("lines of passed tests"), c.skip.field("lines of skipped tests"), c.fail.field("lines of failures not shown"),
		c.total.field("totals not shown"), c.other.field("other lines"), long, ends)
	return out, nil
}

func (r *report) add(l *line) {
	text := string(l.text[:min(len(l.text), maxLine)])
	switch {
	case r.xmlCase(l, text), r.sections(l, text):
	case strings.HasPrefix(text, "=== RUN "), strings.HasPrefix(text, "=== CONT "), strings.HasPrefix(text, "=== PAUSE "), strings.HasPrefix(text, "=== NAME "):
		r.close()
		r.counted.other.add(l)
		r.before.reset()
	case verdictOf(text) == passed:
		r.close()
		r.pass++
		r.counted.pass.add(l)
		r.before.reset()
	case verdictOf(text) == skipped:
		r.close()
		r.skip++
		r.counted.skip.add(l)
		r.before.reset()
	case verdictOf(text) == failed:
		r.failed(l, text)
	case totals(text):
		r.close()
		r.total(l)
	case r.open && (text == "" || text[0] == ' ' || text[0] == '\t' || text[0] == '#' || text[0] == '|' || text[0] == '>'):
		r.blame(l)
	case strings.HasPrefix(text, "panic: "), strings.HasPrefix(text, "fatal error: "):
		r.close()
		r.open, r.section = true, true
		r.blame(l)
	default:
		r.close()
		r.counted.other.add(l)
		if len(r.before.text) < maxLine/2 && text != "" {
			r.before.add(l)
		}
	}
}

// failed begins a failure, with what the test had printed before.
func (r *report) failed(l *line, text string) {
	r.close()
	t := strings.TrimLeft(text, " \t")
	if strings.HasPrefix(t, "FAIL\t") || strings.HasPrefix(t, "FAIL ") || strings.HasPrefix(t, "FAILED ") {
		r.total(l)
		return
	}
	r.fail++
	r.open = true
	if r.before.lines > 0 && !r.before.cut && r.before.start+int64(len(r.before.text)) >= l.start-2 {
		r.failure, r.before = r.before, block{text: r.failure.text[:0]}
		r.counted.other.leave(r.failure.size())
		r.counted.fail.join(r.failure.size())
	}
	r.blame(l)
	r.before.reset()
}

// blame adds a line to the failure that is open.
func (r *report) blame(l *line) {
	r.counted.fail.add(l)
	r.failure.add(l)
}

// total keeps a line that sums up.
func (r *report) total(l *line) {
	r.counted.total.add(l)
	v := l.verbatim("total")
	v.from = &r.counted.total
	if r.totals = append(r.totals, v); len(r.totals) > 64 {
		r.totals = r.totals[1:]
	}
}

// flush ends the case of a JUnit report that is open, and counts its lines.
func (r *report) flush(in *tally) {
	if r.xml {
		in.join(r.before.size())
		r.xml = false
	}
	r.before.reset()
}

// sections are what a report sets apart: pytest's FAILURES, cargo's "failures:".
func (r *report) sections(l *line, text string) bool {
	begins := text == "failures:" || strings.HasPrefix(text, "=") && (strings.Contains(text, " FAILURES ") || strings.Contains(text, " ERRORS "))
	ends := strings.HasPrefix(text, "test result:") || strings.HasPrefix(text, "=") && !begins || strings.HasPrefix(text, "FAIL\t") || strings.HasPrefix(text, "exit status")
	switch {
	case begins:
		r.close()
		r.open, r.section = true, true
		r.counted.other.add(l)
		return true
	case r.section && ends:
		r.close()
		return false
	case r.section && strings.HasPrefix(text, "____") || r.section && strings.HasPrefix(text, "---- "):
		r.close()
		r.open, r.section = true, true
		r.blame(l)
		return true
	case r.section:
		r.blame(l)
		return true
	}
	return false
}

// xmlCase reads the cases of a JUnit report, a line or several each.
func (r *report) xmlCase(l *line, text string) bool {
	t := strings.TrimSpace(text)
	begins := strings.HasPrefix(t, "<testcase")
	switch {
	case !begins && !r.xml:
		if strings.HasPrefix(t, "<testsuite") {
			r.total(l)
			return true
		}
		return false
	case begins:
		r.flush(&r.counted.other) // a case without an end
		r.xml = true
	}
	r.before.add(l)
	if begins && strings.HasSuffix(t, "/>") || strings.HasSuffix(t, "</testcase>") {
		in := &r.counted.pass
		switch body := r.before.text; {
		case bytes.Contains(body, []byte("<failure")), bytes.Contains(body, []byte("<error")):
			r.fail++
			in = &r.counted.fail
			l := r.before.line("failure")
			l.from = in
			r.failures = append(r.failures, l)
		case bytes.Contains(body, []byte("<skipped")):
			r.skip++
			in = &r.counted.skip
		default:
			r.pass++
		}
		r.flush(in)
	}
	return true
}

// close ends the failure that is open.
func (r *report) close() {
	if r.failure.lines > 0 && len(r.failures) < maxFailures {
		l := r.failure.line("failure")
		l.from = &r.counted.fail
		r.failures = append(r.failures, l)
	}
	r.failure.reset()
	r.open, r.section = false, false
}

// totals reports whether a line sums up a run.
func totals(text string) bool {
	return text == "PASS" || text == "FAIL" || strings.HasPrefix(text, "test result:") || strings.HasPrefix(text, "Tests: ") ||
		strings.HasPrefix(text, "Tests:") || strings.HasPrefix(text, "1..") || strings.HasPrefix(text, "exit status") ||
		strings.HasPrefix(text, "=") && (strings.Contains(text, " passed") || strings.Contains(text, " failed"))
}
