package vector_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"satchel/pipeline/store/vector"
)

func pieces(text string) []string {
	var out []string
	for _, s := range vector.Split(text) {
		out = append(out, text[s.Start:s.End])
	}
	return out
}

func TestSplitShortTextIsOneChunk(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a", strings.Repeat("word ", 400)} {
		if got := vector.Split(text); len(got) != 1 || got[0].Start != 0 || got[0].End != len(text) {
			t.Errorf("%d bytes: %v", len(text), got)
		}
	}
	if got := vector.Split(""); got != nil {
		t.Errorf("the empty text has chunks %v", got)
	}
}

func TestSplitAtTheStrongestStructure(t *testing.T) {
	t.Parallel()
	words := func(n int) string { return strings.Repeat("word ", n) }
	for name, c := range map[string]struct{ first, second string }{
		"blank line":        {words(240) + "end. \n\n", words(30) + "x.\n- item\n" + words(200)},
		"blank, with space": {words(240) + "\n  \n", words(300)},
		"heading":           {words(240) + "end.\n", "## Heading\n" + words(300)},
		"list item":         {words(240) + "end.\n", "- item " + words(300)},
		"numbered item":     {words(240) + "end.\n", "12. item " + words(300)},
		"line":              {words(240) + "end\n", "line. More " + words(300)},
		"sentence":          {words(240) + "end. ", words(300)},
		"cjk sentence":      {strings.Repeat("語", 500) + "。", strings.Repeat("語", 600)},
	} {
		if got := pieces(c.first + c.second); got[0] != c.first {
			t.Errorf("%s: first chunk ends in %q", name, got[0][max(0, len(got[0])-30):])
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("plain")
	f.Add(strings.Repeat("é", 3000))
	f.Add(strings.Repeat("a. b\n\n- c\n# d\n", 500))
	f.Add(strings.Repeat("\x80", 5000))
	f.Add(strings.Repeat("x", 700_000))
	f.Fuzz(func(t *testing.T, text string) {
		spans := vector.Split(text)
		if len(spans) > 256 {
			t.Fatalf("%d chunks", len(spans))
		}
		at := 0
		for _, s := range spans {
			if s.Start != at || s.End <= s.Start {
				t.Fatalf("span %v after %d", s, at)
			}
			if len(text) <= 250_000 && s.End-s.Start > 2000 {
				t.Fatalf("chunk of %d bytes", s.End-s.Start)
			}
			if utf8.ValidString(text) && !utf8.ValidString(text[s.Start:s.End]) {
				t.Fatalf("span %v cuts a rune", s)
			}
			at = s.End
		}
		if at != len(text) {
			t.Fatalf("%d of %d bytes are covered", at, len(text))
		}
	})
}
