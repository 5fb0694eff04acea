package blob_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"satchel/pipeline/compaction/blob"
)

// accounted holds that every byte is shown or counted as dropped, and every line of what
// is read line by line.
func accounted(t interface{ Errorf(string, ...any) }, text string, s *blob.Summary) {
	shown := make([]bool, len(text))
	bytes, rows := int64(0), int64(0)
	for _, l := range s.Lines {
		if !l.Verbatim {
			continue
		}
		rows += int64(strings.Count(l.Text, "\n")) + 1
		for i := l.Span.Start; i < l.Span.End; i++ {
			if !shown[i] {
				shown[i] = true
				bytes++
			}
		}
	}
	kept, count := bytes, int64(0)
	for _, f := range s.Dropped {
		if f.Count < 0 || f.Bytes < 0 {
			t.Errorf("%s: the field %+v is below nothing", s.Kind, f)
		}
		bytes += f.Bytes
		count += f.Count
	}
	if bytes != int64(len(text)) {
		t.Errorf("%s: %d bytes are shown and %d dropped of %d: %+v", s.Kind, kept, bytes-kept, len(text), s.Dropped)
	}
	lines := int64(strings.Count(text, "\n"))
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	if slices.Contains([]blob.Kind{blob.Log, blob.Table, blob.Diff, blob.Tests, blob.Text}, s.Kind) && rows+count != lines {
		t.Errorf("%s: %d lines are shown and %d dropped of %d: %+v", s.Kind, rows, count, lines, s.Dropped)
	}
}

// TestEveryByteIsAccountedFor draws blobs of every kind, well formed and mixed.
func TestEveryByteIsAccountedFor(t *testing.T) {
	t.Parallel()
	kinds := map[string][]string{
		"log": {"2026-03-03T10:00:0%dZ INFO order %d bought", "10:00:0%d ERROR payment failed order=%d", "10:00:0%d ERROR the disk %d is gone", "\tat com.acme.Pay.run(Pay.java:%d)",
			"Traceback (most recent call last): %d", "ValueError: %d", "panic: %d", "main.run(0x%d, 0x2)", "goroutine %d [running]:", "", "  ", "step %d\x00%d"},
		"table":  {"name,n,%d", "town %d,%d,x", "\"a, %d\",7,%d", "---,---", "", ",,"},
		"diff":   {"diff --git a/x%d.go b/x%d.go", "--- a/y%d.sql", "+++ b/y.sql", "@@ -%d,4 +1,4 @@", "-var a = %d", "+var a = %d", " context %d", "--- note", "+++ %d", "index 1..%d", ""},
		"tests":  {"=== RUN   Test%d", "--- PASS: Test%d (0.0s)", "--- FAIL: Test%d (0.0s)", "--- SKIP: Test%d", "    b_test.go:%d: got", "FAIL", "FAIL\tsatchel/x\t%d", "ok  \tsatchel/a\t%ds", "panic: %d", "noise %d", "", "========== FAILURES ==========", "____ test_%d ____", "==== 1 failed, %d passed ====", "failures:", "test result: FAILED. %d"},
		"xml":    {"<?xml?>", "<testsuites>", "<testsuite name=\"%d\">", "<testcase name=\"%d\"/>", "<testcase name=\"%d\">", "<failure>%d</failure>", "<skipped/>", "</testcase>", "</testsuite>", "x %d"},
		"search": {"Title %d", "https://example.org/%d", "https://example.org/same", "URL: http://a.b/%d", "A passage about example.org and %d.", ""},
		"json":   {`{"title":"t%d","url":"https://a.b/%d","snippet":"a. b %d"}`, `[{"title":"a","url":"https://a.b/","snippet":"x"},{"title":"b","url":"https://a.b","snippet":"y"}]`, `{"a":[1,2,{"error":"%d"},null,true],"b":{"c":%d}}`, `[`, `]`, `%d`, `{"x":`, `"y"`, `}`, ` `},
		"text":   {"A sentence about boats %d.", "# Heading %d", "- item %d", "", "It failed with an error %d"},
	}
	var all []string
	for _, lines := range kinds {
		all = append(all, lines...)
	}
	slices.Sort(all)
	kinds["all"] = all
	names := []string{"log", "table", "diff", "tests", "xml", "search", "json", "text", "all"}
	rapid.Check(t, func(t *rapid.T) {
		of := kinds[rapid.SampledFrom(names).Draw(t, "of")]
		end := rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "end")
		var b strings.Builder
		for range rapid.IntRange(0, 80).Draw(t, "lines") {
			line := rapid.SampledFrom(of).Draw(t, "line")
			if n := strings.Count(line, "%d"); n > 0 {
				args := make([]any, n)
				for i := range args {
					args[i] = rapid.IntRange(0, 30).Draw(t, "n")
				}
				line = fmt.Sprintf(line, args...)
			}
			switch rapid.IntRange(0, 60).Draw(t, "size") {
			case 0:
				line += strings.Repeat(" é", 3000)
			case 1:
				line += strings.Repeat("x", 70_000)
			}
			b.WriteString(line + end)
		}
		text := b.String()
		if rapid.Bool().Draw(t, "open end") {
			text = strings.TrimSuffix(text, end)
		}
		s, err := blob.Summarise(strings.NewReader(text), blob.Options{
			Query: rapid.SampledFrom([]string{"", "payment order 7", "boats error example"}).Draw(t, "query"), Lines: rapid.SampledFrom([]int{0, 1, 2, 3, 5, 12}).Draw(t, "most"), Output: rapid.Bool().Draw(t, "output"),
			Kind: rapid.SampledFrom([]blob.Kind{"", "", "", blob.Log, blob.Search, blob.JSON, blob.Table, blob.Diff, blob.Tests, blob.Text, blob.Binary}).Draw(t, "kind")})
		if err != nil {
			t.Fatal(err)
		}
		accounted(t, text, &s)
	})
}

// TestErrorsThatAreAlikeAreCounted: of four errors that are alike one stands for all, the
// last line of the log is another, and two are dropped as like one shown.
func TestErrorsThatAreAlikeAreCounted(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 24 {
		if i%6 == 5 {
			fmt.Fprintf(&b, "2026-03-03T10:00:%02dZ ERROR payment %d failed\n", i, i)
		} else {
			fmt.Fprintf(&b, "2026-03-03T10:00:%02dZ INFO order %d is paid\n", i, i)
		}
	}
	s := summarise(t, b.String(), blob.Options{})
	has(t, &s, "lines like one shown 21")
	if len(s.Lines) != 3 || len(s.Dropped) != 2 || s.Dropped[0].Name != "lines like one shown" || s.Dropped[1].Name != "line ends" || s.Dropped[1].Bytes != 3 {
		t.Errorf("lines %+v, dropped %+v", s.Lines, s.Dropped)
	}
}

// TestOddLinesAreCounted has lines that no line of a summary stands for.
func TestOddLinesAreCounted(t *testing.T) {
	t.Parallel()
	for kind, text := range map[blob.Kind]string{
		blob.Log:   "10:00:00 INFO a\n\n\n10:00:01 INFO b\x00\n\r\n10:00:02 ERROR c\n\n\tat d\n" + strings.Repeat("10:00:03 INFO e\r\n", 9),
		blob.Table: "a,b\n,,\n1,2\n\n1,2\n3,4",
		blob.Diff:  "x\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n\n@@ -9 +9 @@\n+c\n",
		blob.Tests: "=== RUN A\nnoise\n--- FAIL: A\n  why\n<testcase name=\"a\">\n<testcase name=\"b\">\n<failure/>\n</testcase>\n<testcase>\nx\n",
		blob.Text:  "a\n\n\x00\nb\n",
		blob.JSON:  `{"a": [1, {"b": 2}], "c": "d" } {"e": nul`,
	} {
		for lines := range 6 {
			summarise(t, text, blob.Options{Kind: kind, Lines: lines})
		}
	}
}

// TestManyKindsOfErrors has more than are shown, and than are kept.
func TestManyKindsOfErrors(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 700 {
		fmt.Fprintf(&b, "10:00:00 ERROR %s failed\n\tat %s.run\n", word(i), word(i+1))
	}
	s := summarise(t, b.String(), blob.Options{})
	has(t, &s, "lines of errors not shown 1")
}

// word is a word without digits for a number.
func word(n int) string {
	return strings.Map(func(r rune) rune { return 'a' + r - '0' }, fmt.Sprint(n))
}
