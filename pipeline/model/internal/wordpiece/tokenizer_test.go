package wordpiece

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// usual are the limits of most tests.
func usual() Limits { return Limits{Pieces: 256, Word: maxWord} }

func openVocabulary(t testing.TB) *Vocabulary {
	t.Helper()
	v, err := New(Uncased())
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return v
}

// cut returns the pieces of text as words, "?" for an unknown one.
func cut(v *Vocabulary, text string, limits Limits) []string {
	out := []string{}
	for _, p := range v.Cut(nil, text, limits) {
		switch {
		case p == Unknown:
			out = append(out, "?")
		case v.starts[p]:
			out = append(out, v.pieces[p])
		default:
			out = append(out, continuation+v.pieces[p])
		}
	}
	return out
}

func TestTokenizer(t *testing.T) {
	t.Parallel()
	v := openVocabulary(t)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" \t\n", ""},
		{"Hello, World!", "hello , world !"},
		{"unaffable", "una ##ffa ##ble"},
		{"ÀÉ naïve", "ae naive"},
		{"don't", "don ' t"},
		{"a\x00b\x7fc", "abc"},
		{"foo_bar", "foo _ bar"},
		{"中国", "中 国"},
		{"x中y", "x 中 y"},
		{"[CLS] [MASK]", "[ cl ##s ] [ mask ]"},
		{"ok 😀 ok", "ok ? ok"},
		{"\xff\xfeok\xc0", "ok"},
		{"½", "½"},
		{"two words", "two words"},
		{"“quoted”", "“ quoted ”"},
		{strings.Repeat("y", 201), "?"},
		{"가", "ᄀ ##ᅡ"},
		{"on\u1734", "on"},           // a mark in Unicode 8
		{"on\u0898 on\u1885", "? ?"}, // marks that came later
		{"on\u2e52on", "?"},          // punctuation that came later
		{"on\u08e2on", "?"},          // a format character that came later
		{"on\U0002b81f on\U0002b820", "on ? ?"},
	} {
		if diff := cmp.Diff(strings.Fields(c.want), cut(v, c.text, usual())); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestTokenizerStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	v := openVocabulary(t)
	for _, c := range []struct {
		text, want string
		limits     Limits
	}{
		{"one two three", "one two", Limits{Pieces: 2, Word: 9}},
		{"one", "", Limits{Pieces: 0, Word: 9}},
		{"😀 seen unseen", "? seen", Limits{Pieces: 2, Word: 9}},
		{"word unaffable", "word una ##ffa", Limits{Pieces: 3, Word: 9}},
		{"word unaffable", "word ?", Limits{Pieces: 3, Word: 8}},
		{"word una😀", "word ?", Limits{Pieces: 2, Word: 9}},
		{strings.Repeat("a ", 600), strings.TrimSpace(strings.Repeat("a ", 512)), Limits{Pieces: 600, Word: 9}},
		{strings.Repeat("y", 201) + " end", "? end", Limits{Pieces: 9, Word: 500}},
	} {
		if got := strings.Join(cut(v, c.text, c.limits), " "); got != c.want {
			t.Errorf("%.30q, %+v: pieces %q, want %q", c.text, c.limits, got, c.want)
		}
	}
}

// slow cuts text without the shorter way for ASCII.
func slow(v *Vocabulary, text string) []uint16 {
	tok := tokenizer{vocabulary: v, longest: usual().Word, most: usual().Pieces}
	for _, r := range text {
		if tok.count >= tok.most {
			break
		}
		tok.takeRune(r)
	}
	tok.endWord()
	return slices.Clone(tok.pieces[:tok.count])
}

func TestNumber(t *testing.T) {
	t.Parallel()
	v := openVocabulary(t)
	for text, want := range map[string]uint16{"[CLS]": 101, "[UNK]": 100, "the": 1996, "unaffable": Unknown, "": Unknown} {
		if got := v.Number(text); got != want {
			t.Errorf("Number(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestNewRefusesEmptyPieces(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"a\n\nb\n", "a\n##\n"} {
		if _, err := New(data); err == nil {
			t.Errorf("New(%q) took an empty piece", data)
		}
	}
}

func TestCutAppendsWithoutAllocation(t *testing.T) {
	v := openVocabulary(t)
	buffer := make([]uint16, 0, 300)
	for _, text := range []string{"plain words, and more", "naïve café, 日本語 안녕 😀", strings.Repeat("long ", 5000), ""} {
		if n := testing.AllocsPerRun(100, func() { v.Cut(buffer, text, usual()) }); n != 0 {
			t.Errorf("Cut(%.20q) allocates %v times", text, n)
		}
	}
	if got := v.Cut([]uint16{7}, "the", usual()); !slices.Equal(got, []uint16{7, 1996}) {
		t.Errorf("Cut appended to [7]: %v", got)
	}
}

func FuzzCut(f *testing.F) {
	for _, text := range []string{
		"", "Anna: I went to the café!", "\x00\xff", "日本語 한국어 😀", strings.Repeat("ab ", 200), strings.Repeat("é", 201),
		"İ ẞ ǅ \u0344 \u1e9b\u0323", "##ing [SEP]", "\u2028\u0085\v\f",
	} {
		f.Add(text)
	}
	v := openVocabulary(f)
	f.Fuzz(func(t *testing.T, text string) {
		got := v.Cut(nil, text, usual())
		if len(got) > usual().Pieces {
			t.Fatalf("%d pieces", len(got))
		}
		for _, p := range got {
			if int(p) >= v.Len() && p != Unknown {
				t.Fatalf("piece %d of %d", p, v.Len())
			}
		}
		if diff := cmp.Diff(slow(v, text), got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("ASCII path differs (-rune path +run):\n%s", diff)
		}
		if !slices.Equal(v.Cut(nil, " "+text+"\n", usual()), got) {
			t.Error("white space around the text changes its pieces")
		}
		if less := v.Cut(nil, text, Limits{Pieces: len(got) / 2, Word: maxWord}); len(less) != len(got)/2 {
			t.Errorf("half of %d pieces are %d", len(got), len(less))
		}
	})
}
