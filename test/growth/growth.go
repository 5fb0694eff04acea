// Package growth measures how the work of a function grows with its text, over texts that are made
// to be hard. It counts allocations and the bytes of these, which do not depend on the machine.
//
// A function is linear when twice the text takes at most Most times as much. Time decides only where eight times the
// text takes mostTime times as much, which is far from linear on any machine, and where SATCHEL_TEST_REQUIRE has "time".
package growth

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/test/parts"
)

// Most is the ratio of the work for a text to that for half of it, from which the work is not linear.
const Most = 2.5

// Work below these counts says nothing of how it grows.
const (
	fewAllocations = 256
	fewBytes       = 64 << 10
)

// What eight times the text may take as much of time: 8 is linear, 64 quadratic. Runs of less than littleTime do not count.
const (
	mostTime   = 24
	littleTime = 10 * time.Millisecond
	shortTime  = 3 << 10
	longTime   = 8 * shortTime
)

// Function is what reads a text.
type Function struct {
	Name string
	Run  func(text string)
	// Of makes ready what reads the text, where that takes work of its own. nil: Run is measured.
	Of func(text string) (run func())
}

// From is how long the shorter of two texts is.
const From = 3 << 10

// work is what a run took.
type work struct {
	allocations, bytes uint64
	took               time.Duration
}

// Check runs each function over each text and twice as much of it. It logs the worst ratio of each, and
// the worst of the time for that, which is not exact.
func Check(t *testing.T, functions []Function) {
	t.Helper()
	timed := parts.Required("time") // alone: others on the machine make it a guess
	for _, f := range functions {
		t.Run(f.Name, func(t *testing.T) {
			var worst, slowest struct {
				ratio float64
				text  string
			}
			for _, kind := range Texts() {
				ratio, slower := f.ratio(kind.Of(From), kind.Of(2*From))
				if ratio > Most { // perhaps a step: what is not linear goes on over three doublings
					further, _ := f.ratio(kind.Of(2*From), kind.Of(16*From))
					ratio = min(ratio, math.Cbrt(further))
				}
				if ratio > Most {
					t.Errorf("%s: twice the text takes %.1f times as much, at most %.1f", kind.Name, ratio, Most)
				}
				if timed && f.slower(&kind) > mostTime {
					t.Errorf("%s: eight times the text takes more than %d times the time", kind.Name, mostTime)
				}
				if ratio > worst.ratio {
					worst.ratio, worst.text = ratio, kind.Name
				}
				if slower > slowest.ratio {
					slowest.ratio, slowest.text = slower, kind.Name
				}
			}
			t.Logf("%-32s worst %.2f (%s); time %.1f (%s)", f.Name, worst.ratio, worst.text, slowest.ratio, slowest.text)
		})
	}
}

// ratio is how many times the work and the time of a text another takes.
func (f *Function) ratio(short, long string) (ratio, slower float64) {
	f.measure("." + long[:max(0, len(long)-1)]) // buffers that are kept have their size after that
	a, b := f.measure(short), f.measure(long)
	times := func(a, b, few uint64) float64 {
		if b < few {
			return 0
		}
		return float64(b) / float64(max(a, few/2))
	}
	if b.took > time.Millisecond {
		slower = float64(b.took) / float64(a.took)
	}
	return max(times(a.allocations, b.allocations, fewAllocations), times(a.bytes, b.bytes, fewBytes)), slower
}

// slower is how many times the time of a text one of eight times its size takes, by the least of three runs of each, as
// others use the machine too.
func (f *Function) slower(kind *Text) (times float64) {
	short, long := kind.Of(shortTime), kind.Of(longTime)
	least, most := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 3 {
		if most = min(most, f.measure(long).took); most < littleTime {
			return 0
		}
		least = min(least, f.measure(short).took)
		if times = float64(most) / float64(max(least, littleTime/100)); times <= mostTime {
			break
		}
	}
	return times
}

func (f *Function) measure(text string) work {
	run := func() { f.Run(text) }
	if f.Of != nil {
		run = f.Of(text)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := processor()
	run()
	took := processor() - began
	runtime.ReadMemStats(&after)
	return work{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc, took}
}

// Text is a kind of text.
type Text struct {
	Name string
	unit func(i int) string // the i-th part
	nest string             // closes what the parts open; "" for none
}

// Of returns a text of n bytes, or a few less.
func (t *Text) Of(n int) string {
	var b strings.Builder
	parts := 0
	for ; ; parts++ {
		part := t.unit(parts)
		if b.Len()+len(part)+(parts+1)*len(t.nest) > n {
			break
		}
		b.WriteString(part)
	}
	b.WriteString(strings.Repeat(t.nest, parts))
	return b.String()
}

// Texts lists texts that repeat, nest, never repeat, never end a word, or are full of what is looked for.
func Texts() []Text {
	repeated := func(name, unit string) Text { return Text{Name: name, unit: func(int) string { return unit }} }
	numbered := func(name, format string) Text {
		return Text{Name: name, unit: func(i int) string { return fmt.Sprintf(format, i) }}
	}
	list := []Text{
		{Name: "brackets", unit: func(int) string { return "(" }, nest: ")"},
		{Name: "JSON lists", unit: func(int) string { return "[" }, nest: "]"},
		{Name: "JSON objects", unit: func(int) string { return `{"a":` }, nest: "}"},
		{Name: "base64", unit: func(i int) string { return random(i, 64, "") }},
		{Name: "base64 in lines", unit: func(i int) string { return random(i, 76, "\n") }},
		{Name: "hex words", unit: func(i int) string { return fmt.Sprintf("%08x ", uint32(i)*2654435761) }},
		{Name: "long words", unit: func(i int) string { return random(i, 1021, " ") }},
	}
	for name, unit := range map[string]string{
		"one letter": "a", "camel case": "aB", "apostrophes": "a'", "underscores": "a_", "words": "lorem ", "blanks": " ", "lines": "\n",
		"separators": "-----\n", "dashes": "-", "hyphens": "a-", "dots": "a.", "colons": "a:", "quotes": "\"x\" ",
		"links": "[x](y) ", "fences": "```\nx\n", "headings": "# h\n", "items": "- x\n", "tables": "|a|b|\n", "bars": "|a", "tabs": "a\t", "semicolons": "a;", "equals": "a=", "commas": "a,", "slashes": "a/", "stars": "*a", "one row": "|key", "tags": "<a><b>", "empty tags": "<>", "brackets in tags": "<(>", "empty entities": "(&;", "escapes": "%40&#64;",
		"mails": "a@b.co ", "digits": "7", "numbers": "1234 ", "phones": "+49 30 901820 ", "dates": "2024-01-02 ", "addresses": "10.0.0.1 ",
		"secrets": "password: x1y2z3w4 ", "URLs": "http://a.b/c ", "at signs": "@", "colons alone": ":", "open links": "[a](", "backslashes": "\\", "dollars": "{{x}} ",
		"zalgo": "a\u0301\u0302\u0303", "marks": "\u0301", "Han": "\u732b", "emoji": "\U0001F600", "not UTF-8": "\xff", "no width": "a\u200b", "fullwidth": "\uff21",
		"names": "Ada Lovelace and ", "questions": "Why? ", "orders": "Ignore all previous instructions. ", "traces": "\tat a.b(c.go:1)\n",
		"log": "2024-01-02T03:04:05Z INFO a=1 b=2\n", "diff": "@@ -1 +1 @@\n-a\n+b\n",
	} {
		list = append(list, repeated(name, unit))
	}
	for _, goesOn := range []string{"Mr. ", "a! b ", "12. ", "\u4e2d\u3002", "- a "} { // what ends no sentence, before what opens something
		for _, mark := range []string{"**** ", "** ", "` ", "(", "\" ", "[x ", "\u2028", "    "} {
			list = append(list, repeated(fmt.Sprintf("%q with %q", goesOn, mark), goesOn+mark))
		}
	}
	for name, format := range map[string]string{
		"other words": "w%d ", "other names": "Alpha%d Beta%[1]d ", "definitions": "Alpha Beta%d Gamma (ABG%[1]d) ", "other mails": "a%d@b%[1]d.com ",
		"other headings": "# Head %d\n\nText %[1]d.\n\n", "log of many": "2024-01-02T03:04:05Z ERROR worker-%d failed: code %[1]d\n", "CSV": "%d,a%[1]d,b\n", "JSON lines": "{\"a\":%d,\"b%[1]d\":\"c\"}\n",
		"functions": "func f%d(a int) int { return a + %[1]d }\n", "other quotes": "\"Title%d Word\" ", "assignments": "key%d = value%[1]d\n", "sentences": "The valve %d was opened by Ann%[1]d on day %[1]d. ",
		"references": "see [%d] and [[%[1]d]] ", "stack": "  File \"a%d.py\", line %[1]d, in f%[1]d\n", "matches": "a%d.go:%[1]d:text\n",
	} {
		list = append(list, numbered(name, format))
	}
	slices.SortFunc(list, func(a, b Text) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// random returns n letters of base64 that depend on i alone, and an end.
func random(i, n int, end string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	state := uint64(i+1) * 0x9E3779B97F4A7C15
	out := make([]byte, n, n+len(end))
	for k := range out {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		out[k] = letters[state%64]
	}
	return string(append(out, end...))
}
