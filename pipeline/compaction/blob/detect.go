package blob

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Detect says what a blob is by its beginning, and by whether a program put it out.
func Detect(head []byte, output bool) Kind {
	if isBinary(head) {
		return Binary
	}
	body := bytes.TrimLeft(head, " \t\r\n\ufeff")
	if len(body) == 0 {
		return Text
	}
	if body[0] == '{' || body[0] == '[' {
		if k := detectJSON(body); k != "" {
			return k
		}
	}
	sample := sampleLines(body)
	switch {
	case isDiff(sample):
		return Diff
	case isTests(sample):
		return Tests
	case isSearch(sample):
		return Search
	case isLog(sample):
		return Log
	case findDelimiter(sample) != 0:
		return Table
	case output && isUniform(sample):
		return Log
	}
	return Text
}

// isBinary reports whether text would not be one: it has a NUL, or more than a tenth of
// it is neither printable nor white space.
func isBinary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	bad := 0
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && n == 1 && i+utf8.UTFMax < len(head) || r < ' ' && r != '\n' && r != '\t' && r != '\r' && r != 0x1b {
			bad++
		}
		i += n
	}
	return bad*10 > len(head)
}

func summariseBinary(br *bufio.Reader, _ Options) (Summary, error) {
	head, err := br.Peek(512)
	if len(head) == 0 && err != nil && err != io.EOF {
		return Summary{}, err
	}
	n, err := io.Copy(io.Discard, br)
	return Summary{Kind: Binary, Title: http.DetectContentType(head), Dropped: []Field{{Name: "content", Count: 1, Bytes: n}}}, err
}

// detectJSON tells JSON from a log line that begins with a bracket, and lists of
// search results from other JSON. Lines of JSON objects are a log.
func detectJSON(body []byte) Kind {
	end := bytes.IndexByte(body, '\n')
	if body[0] == '{' && end > 0 && body[end-1] == '}' && bytes.HasPrefix(bytes.TrimLeft(body[end:], "\r\n"), []byte("{")) {
		return Log
	}
	rest := bytes.TrimLeft(body[1:], " \t\r\n")
	if len(rest) > 0 && body[0] == '{' && rest[0] != '"' && rest[0] != '}' {
		return ""
	}
	if len(rest) > 0 && body[0] == '[' && !strings.ContainsRune(`{["]-0123456789tfn`, rune(rest[0])) {
		return ""
	}
	if body[0] == '[' && len(rest) > 3 && rest[0] >= '0' && rest[0] <= '9' {
		if i := bytes.IndexAny(rest, ":-/]\n"); i >= 0 && i < 12 && (rest[i] != ']' || i+1 < len(rest) && rest[i+1] == ' ') {
			return "" // [12:30:01] or [123] of a log
		}
	}
	has := func(keys ...string) bool {
		for _, k := range keys {
			if bytes.Contains(body[:min(len(body), 8<<10)], []byte(`"`+k+`"`)) {
				return true
			}
		}
		return false
	}
	list := body[0] == '[' || has("results", "items", "organic_results", "hits", "webPages")
	if list && has("url", "link", "href") && has("title", "name") && has("snippet", "content", "description", "passage", "body", "text") {
		return Search
	}
	return JSON
}

// sampleLines are the first whole lines, at most 60.
func sampleLines(body []byte) []string {
	var out []string
	for l := range bytes.Lines(body[:min(len(body), 16<<10)]) {
		out = append(out, strings.TrimRight(string(l), "\r\n"))
		if len(out) == 60 {
			break
		}
	}
	return out
}

func isDiff(sample []string) bool {
	files := 0
	hunks := 0
	for i, l := range sample {
		switch {
		case strings.HasPrefix(l, "diff --git "):
			return true
		case strings.HasPrefix(l, "--- ") && i+1 < len(sample) && strings.HasPrefix(sample[i+1], "+++ "):
			files++
		case strings.HasPrefix(l, "@@ -"):
			hunks++
		}
	}
	return files > 0 && hunks > 0
}

func isTests(sample []string) bool {
	hits := 0
	lines := 0
	for _, l := range sample {
		if strings.TrimSpace(l) != "" {
			lines++
		}
		if strings.Contains(l, "<testsuite") || strings.Contains(l, "= test session starts =") || strings.HasPrefix(l, "TAP version ") {
			return true
		}
		if verdictOf(l) != 0 || strings.HasPrefix(l, "=== RUN ") || strings.HasPrefix(l, "test result:") {
			hits++
		}
	}
	return hits >= 2 && hits*4 >= lines || hits >= 1 && lines <= 3
}

func isSearch(sample []string) bool {
	urls := 0
	for _, l := range sample {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(strings.TrimPrefix(strings.ToLower(l), "url: "), "http") && !strings.Contains(strings.TrimPrefix(strings.ToLower(l), "url: "), " ") {
			urls++
		}
	}
	return urls >= 2 && urls*8 >= len(sample)
}

// isLog reports whether most lines begin with a time or hold a level.
func isLog(sample []string) bool {
	hits := 0
	lines := 0
	times := newStamps()
	for _, l := range sample {
		if strings.TrimSpace(l) == "" || isTraceLine([]byte(l), false) {
			continue
		}
		lines++
		if times.findStamp(l) != "" || hasLevel(l) {
			hits++
		}
	}
	return lines >= 2 && hits*2 >= lines
}

// isUniform reports whether at least half of five lines or more are alike but for the
// tokens that hold a digit, and have a word beside one: a log without time and level.
// Headings, items of lists and sentences are none.
func isUniform(sample []string) bool {
	lines := 0
	most := 0
	shapes := map[uint64]int{}
	for _, l := range sample {
		if strings.TrimSpace(l) == "" {
			continue
		}
		lines++
		words := 0
		digits := 0
		for tok := range strings.FieldsFuncSeq(l, isBlankRune) {
			if hasDigit([]byte(tok)) {
				digits++
			} else {
				words++
			}
		}
		if words > 0 && digits > 0 && !isProseLine(l) {
			shape := shapeOf([]byte(l))
			shapes[shape]++
			most = max(most, shapes[shape])
		}
	}
	return lines >= 5 && most*2 >= lines
}

// isProseLine reports whether a line reads as one of a written text: a heading, an item of a
// list, a quotation, or the end of a sentence.
func isProseLine(l string) bool {
	l = strings.TrimSpace(l)
	return strings.ContainsAny(l[:1], "#-*>+") || strings.ContainsAny(l[len(l)-1:], ".!?:;") && strings.Count(l, " ") > 2
}

func hasLevel(l string) bool {
	for _, level := range []string{"INFO", "WARN", "ERROR", "DEBUG", "TRACE", "FATAL", "level="} {
		if i := strings.Index(l, level); i >= 0 && i < 60 {
			return true
		}
	}
	return false
}

// findDelimiter returns what separates the columns of a table, 0 when it is none.
func findDelimiter(sample []string) rune {
	if len(sample) > 1 && len(sample) == 60 {
		sample = sample[:59]
	}
	for _, d := range []rune{'\t', '|', ',', ';'} {
		columns := 0
		rows := 0
		for _, l := range sample {
			n := strings.Count(l, string(d))
			if columns == 0 {
				columns = n
			}
			if n == 0 || d != ',' && n != columns || d == ',' && n < columns {
				rows = -1
				break
			}
			rows++
		}
		prose := d == ',' && columns < 2 && strings.Contains(sample[0], ", ")
		if rows >= 3 && columns >= 1 && !prose {
			return d
		}
	}
	return 0
}
