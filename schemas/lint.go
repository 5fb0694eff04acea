package schemas

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// LintReport counts what Lint read.
type LintReport struct {
	Lines  int `json:"lines"`  // lines that hold something
	Valid  int `json:"valid"`  // lines without an issue
	Bad    int `json:"bad"`    // lines with one
	Issues int `json:"issues"` // over all lines
}

// Lint checks JSONL: each line a memory item, or a structured CloudEvent of a memory
// event type. It calls fn for every line with issues, counted from 1; blank lines are
// skipped. Memory stays bounded: a line over MaxLine bytes is an issue and is not
// kept. The error is that of r.
func Lint(r io.Reader, fn func(line int, issues []Issue)) (LintReport, error) {
	var report LintReport
	err := EachLine(r, func(line int, text []byte, long []Issue) {
		if long == nil {
			long = lintLine(text)
		}
		report.countLine(line, long, fn)
	})
	return report, err
}

// EachLine calls fn for every line of JSONL that holds something, counted from 1, with its
// newline and without a byte order mark; text is valid during the call. Memory stays
// bounded: of a line over MaxLine bytes fn gets an issue in place of the text. The error is
// that of r.
func EachLine(r io.Reader, fn func(line int, text []byte, long []Issue)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var buf []byte
	for line := 1; ; line++ {
		text, long, err := readLine(in, buf[:0])
		buf = text
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read line %d: %w", line, err)
		}
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		}
		switch {
		case long:
			fn(line, nil, []Issue{{Message: "is longer than " + strconv.Itoa(MaxLine) + " bytes"}})
		case len(bytes.TrimSpace(text)) > 0:
			fn(line, text, nil)
		}
		if err != nil {
			return nil
		}
	}
}

func (r *LintReport) countLine(line int, issues []Issue, fn func(int, []Issue)) {
	r.Lines++
	if len(issues) == 0 {
		r.Valid++
		return
	}
	r.Bad++
	r.Issues += len(issues)
	fn(line, Bounded(issues))
}

// readLine reads up to the next newline into buf. A line over MaxLine is read to its
// end and reported as long.
func readLine(in *bufio.Reader, buf []byte) (text []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(buf)+len(part) > MaxLine {
			long = true
			buf = buf[:0]
		} else if !long {
			buf = append(buf, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, long, err
		}
	}
}

func lintLine(text []byte) []Issue {
	if !bytes.Contains(text, []byte(`"specversion"`)) {
		_, issues := DecodeMemoryItem(text)
		return issues
	}
	var ev struct {
		SpecVersion *string         `json:"specversion"`
		ID          string          `json:"id"`
		Source      string          `json:"source"`
		Type        string          `json:"type"`
		Data        json.RawMessage `json:"data"`
		DataBase64  []byte          `json:"data_base64"`
	}
	if json.Unmarshal(text, &ev) != nil || ev.SpecVersion == nil {
		_, issues := DecodeMemoryItem(text)
		return issues
	}
	c := checker{issues: Repeated(text)}
	if *ev.SpecVersion != "1.0" {
		c.addIssue("/specversion", "must be 1.0")
	}
	c.checkID("/id", ev.ID)
	c.checkPresent("/source", len(ev.Source))
	data := []byte(ev.Data)
	if len(data) == 0 {
		data = ev.DataBase64
	}
	if !slices.Contains(MemoryEventTypes(), ev.Type) {
		c.addIssue("/type", orRequired(ev.Type, "is not a memory event type"))
		return c.issues
	}
	for _, issue := range ValidateData(ev.Type, data) {
		if issue.Message == givenTwice && len(ev.Data) > 0 {
			continue // said above
		}
		c.addIssue("/data"+issue.Pointer, issue.Message)
	}
	return c.issues
}
