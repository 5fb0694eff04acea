package static

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func openVocabulary(t testing.TB) *vocabulary {
	t.Helper()
	v, err := newVocabulary(vocabFile)
	if err != nil {
		t.Fatalf("newVocabulary: %v", err)
	}
	return v
}

// cut returns the pieces of text as words.
func cut(v *vocabulary, text string) []string {
	tok := tokenizer{vocabulary: v}
	tok.run(text)
	out := []string{}
	for _, p := range tok.known() {
		if v.starts[p] {
			out = append(out, v.pieces[p])
		} else {
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
		{"ok 😀 ok", "ok ok"},
		{"\xff\xfeok\xc0", "ok"},
		{"½", "½"},
		{"two words", "two words"},
		{"“quoted”", "“ quoted ”"},
		{strings.Repeat("y", 201), ""},
		{"가", "ᄀ ##ᅡ"},
	} {
		if diff := cmp.Diff(strings.Fields(c.want), cut(v, c.text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestTokenizerStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	v := openVocabulary(t)
	for _, c := range []struct {
		text string
		want int
	}{
		{strings.Repeat("word ", 300), 256},
		{strings.Repeat("\U0001F600 ", 255) + "seen unseen", 1},
		{strings.Repeat("\U0001F600 ", 256) + "unseen", 0},
		{strings.Repeat("word ", 255) + "unaffable", 256},
	} {
		if got := len(cut(v, c.text)); got != c.want {
			t.Errorf("%.30q…: %d pieces, want %d", c.text, got, c.want)
		}
	}
}

// slow cuts text without the shorter way for ASCII.
func slow(v *vocabulary, text string) []uint16 {
	tok := tokenizer{vocabulary: v}
	for _, r := range text {
		if tok.count >= maxPieces {
			break
		}
		tok.rune(r)
	}
	tok.endWord()
	return slices.Clone(tok.known())
}

func FuzzTokenizer(f *testing.F) {
	for _, text := range []string{
		"", "Anna: I went to the café!", "\x00\xff", "日本語 한국어 😀", strings.Repeat("ab ", 200), strings.Repeat("é", 201),
		"İ ẞ ǅ \u0344 \u1e9b\u0323", "##ing [SEP]", "\u2028\u0085\v\f",
	} {
		f.Add(text)
	}
	v := openVocabulary(f)
	f.Fuzz(func(t *testing.T, text string) {
		tok := tokenizer{vocabulary: v}
		tok.run(text)
		got := tok.known()
		if len(got) > maxPieces {
			t.Fatalf("%d pieces", len(got))
		}
		for _, p := range got {
			if int(p) >= v.len() {
				t.Fatalf("piece %d of %d", p, v.len())
			}
		}
		if diff := cmp.Diff(slow(v, text), slices.Clone(got)); diff != "" {
			t.Errorf("ASCII path differs (-rune path +run):\n%s", diff)
		}
		again := tokenizer{vocabulary: v}
		again.run(strings.ToValidUTF8(text, ""))
		if utf8.ValidString(text) && !slices.Equal(again.known(), got) {
			t.Error("a second run differs")
		}
		joined := tokenizer{vocabulary: v}
		joined.run(" " + text + "\n")
		if !slices.Equal(joined.known(), got) {
			t.Error("white space around the text changes its pieces")
		}
	})
}
