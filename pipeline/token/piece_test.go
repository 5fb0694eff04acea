package token

import (
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
	"pgregory.net/rapid"
)

// counted returns the tokens of text by the encoder alone.
func counted(t interface{ Fatal(...any) }, encoding, text string) int {
	codec, err := tokenizer.Get(tokenizer.Encoding(encoding))
	if err != nil {
		t.Fatal(err)
	}
	n, err := codec.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// texts draws what could be taken apart at a wrong place: contractions, marks, numbers,
// white space of all kinds, letters beyond ASCII, bytes that are no UTF-8.
func texts() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"a", "word", "Word", "WORD", "camelCase", "x1", "123456", "7", " ", " ", " ", "  ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u2003", "\u3000", "\x85", "\x0b",
		"'s", "'S", "'ll", "'", "’s", "it's", "don't", ".", ",", "...", "/", "//", "\n/", "-", "**", "# ", "`", "(", ")", "é", "ß", "語", "한국", "ก", "\u0301", "e\u0301", "😀", "½", "Ⅷ", "ǅ", "ʰ",
		"\x80", "\xff", "\xe8\xaa", "\x7f", "\x00", "_", "snake_case", "http://x.y/z?a=b", "K", "ſ",
	})
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 0, 40).Draw(t, "parts"), "") })
}

func TestPiecesCountAsTheWhole(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{CL100K, O200K} {
		b := newBPE(encoding)
		rapid.Check(t, func(t *rapid.T) {
			text := texts().Draw(t, "text")
			if want, got := counted(t, encoding, text), b.Count(text); got != want {
				t.Fatalf("%s: %q has %d tokens, counted %d", encoding, text, want, got)
			}
		})
	}
}

func FuzzPieces(f *testing.F) {
	for _, text := range []string{"It's here.\nThe 3rd of May, isn't it?", "a  b\n c\n\nd", "x\n/y", "é è ê a", "func F(ctx context.Context) error {\n\treturn nil\n}"} {
		f.Add(text)
	}
	one, two := newBPE(CL100K), newBPE(O200K)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxSpace { // longer white space may be cut
			return
		}
		for _, b := range []*bpe{one, two} {
			if want, got := counted(t, b.name, text), b.Count(text); got != want {
				t.Fatalf("%s: %q has %d tokens, counted %d", b.name, text, want, got)
			}
		}
	})
}
