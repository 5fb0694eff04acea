package blob_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"satchel/pipeline/compaction/blob"
)

func summarise(t *testing.T, text string, o blob.Options) blob.Summary {
	t.Helper()
	s, err := blob.Summarise(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, text, &s)
	return s
}

// check holds what every summary promises against the bytes.
func check(t *testing.T, text string, s *blob.Summary) {
	t.Helper()
	if s.Size != int64(len(text)) {
		t.Errorf("size is %d, the blob has %d bytes", s.Size, len(text))
	}
	accounted(t, text, s)
	last := int64(0)
	for _, l := range s.Lines {
		if l.Span.Start < last || l.Span.End < l.Span.Start || l.Span.End > s.Size {
			t.Fatalf("line %q: span %v is out of order or of the blob", l.Text, l.Span)
		}
		last = l.Span.Start
		if l.Verbatim && text[l.Span.Start:l.Span.End] != l.Text {
			t.Errorf("verbatim line %q is %q at its span", l.Text, text[l.Span.Start:l.Span.End])
		}
		if l.Last != nil && (l.Last.Start < 0 || l.Last.End > s.Size) {
			t.Errorf("line %q: the last span is %v", l.Text, *l.Last)
		}
		if l.Pattern == "" {
			continue
		}
		n := int64(0)
		for row := range strings.Lines(text) {
			if blob.Matches(l.Pattern, row) {
				n++
			}
		}
		if n < l.Count {
			t.Errorf("pattern %q stands for %d lines, %d match", l.Pattern, l.Count, n)
		}
	}
}

func has(t *testing.T, s *blob.Summary, want ...string) {
	t.Helper()
	text := s.String()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("summary lacks %q:\n%s", w, text)
		}
	}
}

const trace = `2026-03-03T10:00:07Z ERROR payment failed order=1881
java.lang.IllegalStateException: no route
	at com.acme.Pay.run(Pay.java:42)
	at com.acme.Main.main(Main.java:7)
Caused by: java.io.IOException: reset
	... 3 more
`

func accessLog(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "2026-03-03T10:%02d:%02dZ INFO GET /v1/orders/%d 200 %dms\n", i/60%60, i%60, i*7919, i%31)
		if i%3 == 0 {
			fmt.Fprintf(&b, "2026-03-03T10:%02d:%02dZ WARN cache miss for shard %d\n", i/60%60, i%60, i%16)
		}
		if i == lines/2 {
			b.WriteString(trace)
		}
	}
	return b.String()
}

func TestLog(t *testing.T) {
	t.Parallel()
	text := accessLog(900)
	s := summarise(t, text, blob.Options{})
	if s.Kind != blob.Log || len(s.Lines) > 48 {
		t.Fatalf("it is a %s of %d lines", s.Kind, len(s.Lines))
	}
	has(t, &s, "ERROR payment failed order=1881", "com.acme.Pay.run", "Caused by: java.io.IOException", "... 3 more",
		"2026-03-03T10:00:00Z to 2026-03-03T10:14:59Z", "900 lines like: {2026-03-03T10:00:00Z} INFO GET {/v1/orders/0 200 0ms}", "300 lines like: ", "1 kind of error")
	if first := s.Lines[0]; first.Span.Start != 0 || first.Count != 900 {
		t.Errorf("the first line is %+v", first)
	}
	shown := int64(0)
	for _, l := range s.Lines {
		shown += max(1, l.Count)
	}
	if shown != 900+300+1+1 { // templates, the error, and the last line, which is one of a template
		t.Errorf("%d lines are shown or counted", shown)
	}
}

func TestLogFoldsRepeatedErrors(t *testing.T) {
	t.Parallel()
	s := summarise(t, strings.Repeat(trace, 50)+"2026-03-03T11:00:00Z INFO done\n", blob.Options{})
	errors := 0
	for _, l := range s.Lines {
		if l.Note == "error" {
			errors++
			if l.Count != 50 {
				t.Errorf("%q stands for %d", l.Text, l.Count)
			}
		}
	}
	if errors == 0 || errors > 2 {
		t.Errorf("%d kinds of errors", errors)
	}
}

func TestFailureWords(t *testing.T) {
	t.Parallel()
	quiet := "10:00:00 INFO finished errors=0\n10:00:01 INFO request done err=nil error=<nil>\n10:00:02 INFO no errors found\n10:00:03 INFO bye\n"
	s := summarise(t, quiet, blob.Options{})
	for _, l := range s.Lines {
		if l.Note == "error" && !strings.Contains(l.Text, "<nil>") {
			t.Errorf("%q is taken for an error", l.Text)
		}
	}
}

func TestSearchResults(t *testing.T) {
	t.Parallel()
	text := `{"query":"q","results":[
{"title":"Renewing certificates","url":"https://www.example.org/tls/?utm_source=x","snippet":"First of all, coffee. The gateway certificate is renewed by certbot."},
{"title":"Again","url":"http://example.org/tls","snippet":"The gateway certificate is renewed by certbot."},
{"title":"Other \"quoted\"","url":"https://other.org/a","content":"Nothing to see."}]}`
	s := summarise(t, text, blob.Options{Query: "who renewed the gateway certificate"})
	if s.Kind != blob.Search {
		t.Fatalf("it is %s", s.Kind)
	}
	has(t, &s, "Renewing certificates", "https://www.example.org/tls/?utm_source=x", "The gateway certificate is renewed by certbot.", "duplicates 1", `Other "quoted"`, "3 results")
	if strings.Contains(s.String(), "coffee") || strings.Contains(s.String(), "Again") {
		t.Errorf("too much is shown:\n%s", s.String())
	}
	plain := "Renewing certificates\nhttps://example.org/tls\nThe gateway certificate is renewed by certbot.\n\nOther\nhttps://other.org/a\nNothing.\n"
	s = summarise(t, plain, blob.Options{Query: "gateway certificate"})
	if s.Kind != blob.Search {
		t.Fatalf("it is %s", s.Kind)
	}
	has(t, &s, "Renewing certificates", "https://example.org/tls", "renewed by certbot", "https://other.org/a")
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var rows []map[string]any
	for i := range 200 {
		price := 10 + i%5
		if i == 77 {
			price = 99999
		}
		rows = append(rows, map[string]any{"sku": fmt.Sprintf("s-%d", i), "price": price, "tags": []string{"a", "b"}, "note": nil})
	}
	raw, err := json.Marshal(map[string]any{"status": "ok", "total": 200, "rows": rows})
	if err != nil {
		t.Fatal(err)
	}
	s := summarise(t, string(raw), blob.Options{Query: "sku s-42"})
	if s.Kind != blob.JSON {
		t.Fatalf("it is %s", s.Kind)
	}
	has(t, &s, `"status":"ok"`, `"price":99999`, "rows[].sku: string ×200", "rows[].price: number ×200, 10 to 99999", `"sku":"s-42"`, "rows[].note")
	broken := summarise(t, `{"a": [1, 2, {"error": "boom"}, `, blob.Options{})
	has(t, &broken, `"error": "boom"`, "no longer JSON")
	lines := summarise(t, "{\"level\":\"info\",\"msg\":\"a\"}\n{\"level\":\"info\",\"msg\":\"b\"}\n", blob.Options{})
	if lines.Kind != blob.Log {
		t.Errorf("lines of JSON are %s", lines.Kind)
	}
	deep := summarise(t, strings.Repeat("[", 100_000), blob.Options{})
	if len(deep.Dropped) == 0 {
		t.Error("nothing is said of what could not be read")
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("city,population,country\n")
	for i := range 500 {
		fmt.Fprintf(&b, "\"town, %d\",%d,%s\n", i, 1000+i*3%977, []string{"NL", "DE"}[i%2])
	}
	b.WriteString("Metropolis,99000000,US\n,12,\n")
	s := summarise(t, b.String(), blob.Options{})
	if s.Kind != blob.Table {
		t.Fatalf("it is %s", s.Kind)
	}
	has(t, &s, "city,population,country", "Metropolis,99000000,US", "population: numbers, 12 to 9.9e+07", "country: 3 values", "1 empty", "502 rows of 3 columns")
	pipes := summarise(t, "| name | n |\n|---|---|\n| a | 1 |\n| b | 22 |\n| c | 3 |\n", blob.Options{})
	has(t, &pipes, "| b | 22 |", "3 rows of 2 columns")
}

func TestDiff(t *testing.T) {
	t.Parallel()
	text := "diff --git a/x.go b/x.go\nindex 1..2 100644\n--- a/x.go\n+++ b/x.go\n@@ -1,4 +1,4 @@\n package x\n-var a = 1\n+var a = 2\n \n" +
		"--- a/y.sql\n+++ b/y.sql\n@@ -1 +1,2 @@\n select 1;\n+-- note\n+select 2;\n"
	s := summarise(t, text, blob.Options{})
	if s.Kind != blob.Diff {
		t.Fatalf("it is %s", s.Kind)
	}
	has(t, &s, "x.go: +1 −1 in 1 hunk", "y.sql: +2 −0 in 1 hunk", "-var a = 1\n+var a = 2", "+-- note\n+select 2;", "lines of context", "2 files, +3 −1")
}

func TestReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"go": {"=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    b_test.go:9: got 1, want 2\n--- FAIL: TestB (0.00s)\n=== RUN   TestC\n--- SKIP: TestC (0.00s)\nFAIL\nFAIL\tsatchel/x\t0.01s\n",
			[]string{"b_test.go:9: got 1, want 2\n--- FAIL: TestB", "1 failed, 1 passed, 1 skipped", "passed tests 1"}},
		"go short": {"ok  \tsatchel/a\t0.1s\nok  \tsatchel/b\t0.1s\n--- FAIL: TestB (0.00s)\n    b_test.go:9: got 1\nFAIL\nFAIL\tsatchel/x\t0.01s\n",
			[]string{"--- FAIL: TestB (0.00s)\n    b_test.go:9: got 1", "FAIL\tsatchel/x"}},
		"pytest": {"============ test session starts ============\nt.py::test_a PASSED\nt.py::test_b FAILED\n\n========== FAILURES ==========\n____ test_b ____\n\n    def test_b():\n>       assert 1 == 2\nE       assert 1 == 2\n\nt.py:4: AssertionError\n====== short test summary info ======\nFAILED t.py::test_b - assert 1 == 2\n==== 1 failed, 1 passed in 0.1s ====\n",
			[]string{"____ test_b ____\n\n    def test_b():\n>       assert 1 == 2", "t.py:4: AssertionError", "1 failed, 1 passed in 0.1s"}},
		"tap":   {"TAP version 13\nok 1 - a\nnot ok 2 - b\n  ---\n  message: boom\n  ...\nok 3 - c # SKIP\n1..3\n", []string{"not ok 2 - b\n  ---\n  message: boom", "1 failed, 1 passed, 1 skipped"}},
		"cargo": {"running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nthread 'b' panicked at src/lib.rs:3\n\ntest result: FAILED. 1 passed; 1 failed\n", []string{"thread 'b' panicked at src/lib.rs:3", "test result: FAILED"}},
		"junit": {"<testsuites>\n<testsuite name=\"s\" tests=\"2\">\n<testcase name=\"a\"/>\n<testcase name=\"b\">\n<failure>boom</failure>\n</testcase>\n</testsuite>\n</testsuites>\n", []string{"<failure>boom</failure>", "1 failed, 1 passed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := summarise(t, c.text, blob.Options{})
			if s.Kind != blob.Tests {
				t.Fatalf("it is %s", s.Kind)
			}
			has(t, &s, c.want...)
		})
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]blob.Kind{
		"": blob.Text,
		"Dear all,\nthe meeting is at ten. Bring, please, coffee.\nYours\n": blob.Text,
		"\x7fELF\x00\x01": blob.Binary,
		"[12:30:01] started\n[12:30:02] INFO ready\n[12:30:09] stopped\n": blob.Log,
		"[1,2,3]":                                      blob.JSON,
		"{not json}\nat all\n":                         blob.Text,
		"a\tb\n1\t2\n3\t4\n":                           blob.Table,
		"a,b\n1,2\n3,4\n5,6\n7,8\n9,1\n":               blob.Table,
		"1. Mix\n2. Knead\n3. Rest\n4. Bake\n5. Eat\n": blob.Text,
		"id 1\nid 2\nid 3\nboom\nid 5\n":               blob.Log,
	} {
		if got := blob.Detect([]byte(text), true); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// TestBareLog is a log whose lines have neither time nor level.
func TestBareLog(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 3000 {
		if fmt.Fprintf(&b, "GET /orders/%d 200\n", i); i == 1700 {
			b.WriteString("ERROR payment failed: timeout\n")
		}
	}
	s := summarise(t, b.String(), blob.Options{Output: true})
	if s.Kind != blob.Log || len(s.Lines) > 4 {
		t.Errorf("it is a %s of %d lines", s.Kind, len(s.Lines))
	}
	has(t, &s, "3000 lines like: GET {/orders/0 200}", "ERROR payment failed: timeout", "1 kind of error")
}

// handbook is a written text whose sections are alike but for their numbers.
func handbook() string {
	var b strings.Builder
	for i := 1; i <= 80; i++ {
		fmt.Fprintf(&b, "## Recipe %d\n\nRecipe %d takes %d grams of salt and rests for %d minutes\n\n", i, i, 7*i, 3*i)
	}
	return b.String()
}

// TestWrittenTextIsNoLog has headings and sentences that are alike; whoever put them out,
// and whatever they are asked for, they are shown one by one.
func TestWrittenTextIsNoLog(t *testing.T) {
	t.Parallel()
	sentences := strings.ReplaceAll(handbook(), " minutes", " minutes.")
	for _, o := range []struct {
		text   string
		output bool
	}{{handbook(), false}, {sentences, false}, {sentences, true}, {strings.Repeat("- item 1 of the list\n- item 2 of the list\n", 9), true}} {
		s := summarise(t, o.text, blob.Options{Query: "how much salt does recipe 42 take", Lines: 8, Output: o.output})
		if s.Kind != blob.Text || strings.Contains(s.String(), "times)") || strings.Contains(s.String(), "lines like") {
			t.Errorf("it is a %s:\n%s", s.Kind, s.String())
		}
		if strings.HasPrefix(o.text, "#") {
			has(t, &s, "Recipe 42 takes 294 grams of salt", "## Recipe 42")
		}
	}
}

// TestLogKeepsWhatTheQueryNames has numbers and names where the lines of a template differ.
func TestLogKeepsWhatTheQueryNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "2026-03-03T10:00:%02dZ INFO user %s bought order %d\n", i%60, []string{"ann", "bob"}[min(1, i%250)], 7000+i)
	}
	for query, want := range map[string]string{"what happened to order 7321?": "bought order 7321", "What did Ann buy?": "user ann bought order 7250"} {
		s := summarise(t, b.String(), blob.Options{Query: query, Lines: 6})
		has(t, &s, want)
	}
}

// TestLinesThatAreTheSame differ in nothing, so nothing is marked in them.
func TestLinesThatAreTheSame(t *testing.T) {
	t.Parallel()
	s := summarise(t, strings.Repeat("2026-03-03T10:00:00Z INFO boiler 7 is steady\n", 40), blob.Options{})
	has(t, &s, "40 lines like: 2026-03-03T10:00:00Z INFO boiler 7 is steady\n")
}

// TestTextKeepsErrors has an error late in a text that is no log, beside lines of the query.
func TestTextKeepsErrors(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&b, "%s went %s.\n", strings.Repeat("ab", i%7+1), strings.Repeat("north south ", i%5+1))
		if i%3000 == 2000 {
			fmt.Fprintf(&b, "The payment failed after %d seconds\n", i)
		}
	}
	s := summarise(t, b.String(), blob.Options{Query: "north south"})
	if s.Kind != blob.Text {
		t.Fatalf("it is a %s", s.Kind)
	}
	has(t, &s, "The payment failed after 2000 seconds", "north south")
	if strings.Contains(s.String(), "5000 seconds") {
		t.Errorf("an error is kept twice:\n%s", s.String())
	}
}

func TestBinary(t *testing.T) {
	t.Parallel()
	s := summarise(t, "\x89PNG\r\n\x1a\n"+strings.Repeat("\x00\x01\xff", 9999), blob.Options{})
	if s.Kind != blob.Binary || len(s.Lines) != 0 || s.Dropped[0].Bytes != s.Size {
		t.Errorf("summary is %+v", s)
	}
	has(t, &s, "image/png")
}

func TestLongLine(t *testing.T) {
	t.Parallel()
	long := "2026-03-03T10:00:00Z ERROR " + strings.Repeat("é", 1<<19) + "\n"
	for _, text := range []string{long, long + accessLog(10), accessLog(10) + long, strings.Repeat("x", 1<<20), `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, `["` + strings.Repeat("y", 9<<20)} {
		s := summarise(t, text, blob.Options{})
		if len(s.String()) > 64<<10 {
			t.Errorf("the summary has %d bytes", len(s.String()))
		}
	}
}

func TestReaderError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	for _, k := range []blob.Kind{blob.Log, blob.Search, blob.JSON, blob.Table, blob.Diff, blob.Tests, blob.Text, blob.Binary, ""} {
		r := io.MultiReader(strings.NewReader(accessLog(5000)), iotest.ErrReader(broken))
		if _, err := blob.Summarise(r, blob.Options{Kind: k}); !errors.Is(err, broken) && k != blob.JSON {
			t.Errorf("%q: error is %v", k, err)
		}
	}
}

// endless repeats a text until it has given n bytes.
type endless struct {
	text string
	at   int
	left int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), e.left)], e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	e.left -= int64(n)
	return n, nil
}

// TestHundredMegabytes holds memory against a stream of 100 MB, whatever it is.
func TestHundredMegabytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const size = 100 << 20
	for name, text := range map[string]string{
		"log": accessLog(5000), "one line": strings.Repeat("x", 1<<16), "one string": "[\"" + strings.Repeat("x", 1<<16),
		"binary": "\x00\x01\x02\x03",
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s, err := blob.Summarise(&endless{text: text, left: size}, blob.Options{})
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if s.Size != size {
			t.Errorf("%s: %d bytes were read", name, s.Size)
		}
		if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, grown>>20)
		}
	}
}

func TestSameBytesSameSummary(t *testing.T) {
	t.Parallel()
	text := accessLog(300)
	a := summarise(t, text, blob.Options{Query: "cache"})
	b, err := blob.Summarise(iotest.OneByteReader(strings.NewReader(text)), blob.Options{Query: "cache"})
	if err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Error("the summary depends on how the blob is read")
	}
}

func FuzzSummarise(f *testing.F) {
	for _, s := range []string{accessLog(5), trace, `{"a":[1,{"b":null}]}`, "a,b\n1,2\n3,4\n", "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n",
		"=== RUN   T\n--- FAIL: T\n", "t\nhttps://a.b\np\nu\nhttps://a.b\n", "\x00", "<testcase\n", "[[[[", "\r\n\r\n", "a\rb\r\n"} {
		f.Add(s, "query words", uint8(0))
	}
	kinds := []blob.Kind{"", blob.Log, blob.Search, blob.JSON, blob.Table, blob.Diff, blob.Tests, blob.Text, blob.Binary}
	f.Fuzz(func(t *testing.T, text, query string, kind uint8) {
		s, err := blob.Summarise(strings.NewReader(text), blob.Options{Query: query, Kind: kinds[int(kind)%len(kinds)]})
		if err != nil {
			t.Fatal(err)
		}
		check(t, text, &s)
	})
}

// TestTenMegabyteLog holds the time of a 10 MB log with room for a slow machine; the
// benchmark has the figures.
func TestTenMegabyteLog(t *testing.T) {
	t.Parallel()
	text := []byte(accessLog(140_000))
	start := time.Now()
	if _, err := blob.Summarise(bytes.NewReader(text), blob.Options{}); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("%d bytes took %v", len(text), d)
	}
}

func BenchmarkLog10MB(b *testing.B) {
	text := []byte(accessLog(140_000))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := blob.Summarise(bytes.NewReader(text), blob.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
