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
	if err := visitLines(br, r.readReportLine); err != nil {
		return Summary{}, err
	}
	r.closeFailure()
	r.closeCase(&r.counted.other)
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
	ends, long := subtractShownLines(out.Lines)
	c := &r.counted
	out.appendDroppedFields(c.pass.makeField("lines of passed tests"), c.skip.makeField("lines of skipped tests"), c.fail.makeField("lines of failures not shown"),
		c.total.makeField("totals not shown"), c.other.makeField("other lines"), long, ends)
	return out, nil
}

func (r *report) readReportLine(l *line) {
	text := string(l.text[:min(len(l.text), maxLine)])
	switch {
	case r.xmlCase(l, text), r.readSection(l, text):
	case strings.HasPrefix(text, "=== RUN "), strings.HasPrefix(text, "=== CONT "), strings.HasPrefix(text, "=== PAUSE "), strings.HasPrefix(text, "=== NAME "):
		r.closeFailure()
		r.counted.other.countLine(l)
		r.before.resetBlock()
	case verdictOf(text) == passed:
		r.closeFailure()
		r.pass++
		r.counted.pass.countLine(l)
		r.before.resetBlock()
	case verdictOf(text) == skipped:
		r.closeFailure()
		r.skip++
		r.counted.skip.countLine(l)
		r.before.resetBlock()
	case verdictOf(text) == failed:
		r.beginFailure(l, text)
	case isTotalLine(text):
		r.closeFailure()
		r.keepTotalLine(l)
	case r.open && (text == "" || text[0] == ' ' || text[0] == '\t' || text[0] == '#' || text[0] == '|' || text[0] == '>'):
		r.addFailureLine(l)
	case strings.HasPrefix(text, "panic: "), strings.HasPrefix(text, "fatal error: "):
		r.closeFailure()
		r.open = true
		r.section = true
		r.addFailureLine(l)
	default:
		r.closeFailure()
		r.counted.other.countLine(l)
		if len(r.before.text) < maxLine/2 && text != "" {
			r.before.joinLine(l)
		}
	}
}

// beginFailure begins a failure, with what the test had printed before.
func (r *report) beginFailure(l *line, text string) {
	r.closeFailure()
	t := strings.TrimLeft(text, " \t")
	if strings.HasPrefix(t, "FAIL\t") || strings.HasPrefix(t, "FAIL ") || strings.HasPrefix(t, "FAILED ") {
		r.keepTotalLine(l)
		return
	}
	r.fail++
	r.open = true
	if r.before.lines > 0 && !r.before.cut && r.before.start+int64(len(r.before.text)) >= l.start-2 {
		r.failure, r.before = r.before, block{text: r.failure.text[:0]}
		r.counted.other.subtractTally(r.failure.tallyBlock())
		r.counted.fail.addTally(r.failure.tallyBlock())
	}
	r.addFailureLine(l)
	r.before.resetBlock()
}

// addFailureLine adds a line to the failure that is open.
func (r *report) addFailureLine(l *line) {
	r.counted.fail.countLine(l)
	r.failure.joinLine(l)
}

// keepTotalLine keeps a line that sums up.
func (r *report) keepTotalLine(l *line) {
	r.counted.total.countLine(l)
	v := l.quoteLine("total")
	v.from = &r.counted.total
	r.totals = append(r.totals, v)
	if len(r.totals) > 64 {
		r.totals = r.totals[1:]
	}
}

// closeCase ends the case of a JUnit report that is open, and counts its lines.
func (r *report) closeCase(in *tally) {
	if r.xml {
		in.addTally(r.before.tallyBlock())
		r.xml = false
	}
	r.before.resetBlock()
}

// readSection are what a report sets apart: pytest's FAILURES, cargo's "failures:".
func (r *report) readSection(l *line, text string) bool {
	begins := text == "failures:" || strings.HasPrefix(text, "=") && (strings.Contains(text, " FAILURES ") || strings.Contains(text, " ERRORS "))
	ends := strings.HasPrefix(text, "test result:") || strings.HasPrefix(text, "=") && !begins || strings.HasPrefix(text, "FAIL\t") || strings.HasPrefix(text, "exit status")
	switch {
	case begins:
		r.closeFailure()
		r.open = true
		r.section = true
		r.counted.other.countLine(l)
		return true
	case r.section && ends:
		r.closeFailure()
		return false
	case r.section && strings.HasPrefix(text, "____") || r.section && strings.HasPrefix(text, "---- "):
		r.closeFailure()
		r.open = true
		r.section = true
		r.addFailureLine(l)
		return true
	case r.section:
		r.addFailureLine(l)
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
			r.keepTotalLine(l)
			return true
		}
		return false
	case begins:
		r.closeCase(&r.counted.other) // a case without an end
		r.xml = true
	}
	r.before.joinLine(l)
	if begins && strings.HasSuffix(t, "/>") || strings.HasSuffix(t, "</testcase>") {
		in := &r.counted.pass
		switch body := r.before.text; {
		case bytes.Contains(body, []byte("<failure")), bytes.Contains(body, []byte("<error")):
			r.fail++
			in = &r.counted.fail
			l := r.before.makeBlockLine("failure")
			l.from = in
			r.failures = append(r.failures, l)
		case bytes.Contains(body, []byte("<skipped")):
			r.skip++
			in = &r.counted.skip
		default:
			r.pass++
		}
		r.closeCase(in)
	}
	return true
}

// closeFailure ends the failure that is open.
func (r *report) closeFailure() {
	if r.failure.lines > 0 && len(r.failures) < maxFailures {
		l := r.failure.makeBlockLine("failure")
		l.from = &r.counted.fail
		r.failures = append(r.failures, l)
	}
	r.failure.resetBlock()
	r.open = false
	r.section = false
}

// isTotalLine reports whether a line sums up a run.
func isTotalLine(text string) bool {
	return text == "PASS" || text == "FAIL" || strings.HasPrefix(text, "test result:") || strings.HasPrefix(text, "Tests: ") ||
		strings.HasPrefix(text, "Tests:") || strings.HasPrefix(text, "1..") || strings.HasPrefix(text, "exit status") ||
		strings.HasPrefix(text, "=") && (strings.Contains(text, " passed") || strings.Contains(text, " failed"))
}
