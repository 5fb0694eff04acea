package pii

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"satchel/schemas"
)

// Wherever a phrase stands between the borders of words, all of it is marked.
func TestPhrasesMarkAllOfEach(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,2}([ .-]{1,2}[ab1é]{1,2}){0,3}`), 1, 6).Draw(t, "phrases")
		text := rapid.StringMatching(`([ab1é]{1,2}[ .-]{1,2}){0,12}`).Draw(t, "text")
		p, ok := phrasesOf(nil, words)
		if !ok {
			t.Fatal("there are too many")
		}
		marked := make([]bool, len(text))
		last := 0
		for _, sp := range p.markPhrases(nil, text) {
			if sp.Start < last || sp.End <= sp.Start {
				t.Fatalf("%q in %q: %+v is out of order", words, text, sp)
			}
			last = sp.End
			for i := sp.Start; i < sp.End; i++ {
				marked[i] = true
			}
		}
		want := make([]bool, len(text))
		for _, word := range words {
			for at := 0; len(word) > 1 && at+len(word) <= len(text); at++ {
				if text[at:at+len(word)] == word && whole(text, at, at+len(word)) {
					for i := at; i < at+len(word); i++ {
						want[i] = true
					}
				}
			}
		}
		for i := range want {
			if want[i] && !marked[i] {
				t.Fatalf("%q in %q: byte %d is not marked: %v", words, text, i, marked)
			}
		}
	})
}

// More flagged values than are looked for, or paths that go over the content again and again, hide the whole.
func TestWhatExceedsItsBoundsIsHidden(t *testing.T) {
	t.Parallel()
	list := func(n int) schemas.Content {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"a":[{"b":["value %d"]}]}`, i)
		}
		return schemas.JSONContent([]byte("[" + b.String()[1:] + "]"))
	}
	one := "$.content[*].a[*].b[*]"
	ways := []string{one}
	for i := range 100 {
		ways = append(ways, fmt.Sprintf("$.content[*].a[*].b[%0*d]", i+1, 0))
	}
	for name, c := range map[string]struct {
		n     int
		flags []string
		ok    bool
		whole bool
	}{
		"one path": {900, []string{one}, true, false}, "the same path again": {900, []string{one, one, one}, true, false},
		"many values": {mostPhrases + 1, []string{one}, false, false}, "many ways": {900, ways, false, true},
	} {
		r := schemas.Record{MemoryItem: schemas.MemoryItem{Content: list(c.n), Speaker: "value 7"}}
		if ok := Marks(nil).Apply("main", &r, c.flags, schemas.Obligations{}); ok != c.ok {
			t.Errorf("%s: applied %v, want %v", name, ok, c.ok)
		}
		if whole := Whole(list(c.n), c.flags); whole != c.whole {
			t.Errorf("%s: hidden whole %v, want %v", name, whole, c.whole)
		}
		if c.ok && (strings.Contains(r.Content.Text(), "value") || strings.Contains(r.Speaker, "value")) {
			t.Errorf("%s: a value is shown: %.80s, %s", name, r.Content.Text(), r.Speaker)
		}
		if missed := MissedFlag(list(c.n), c.flags); c.whole && missed >= 0 {
			t.Errorf("%s: path %d misses, want none: the whole is hidden", name, missed)
		}
	}
}

// whole reports whether [start, end) begins and ends at the border of a word.
func whole(text string, start, end int) bool {
	inWord := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return !inWord(before) && !inWord(after)
}
