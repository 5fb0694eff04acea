package token

import (
	"slices"
	"strings"
	"testing"

	"github.com/dlclark/regexp2/v2"
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

// expected returns the tokens of text by the encoding's pattern, which a library matches, and by
// merging the leftmost pair of the lowest rank until there is none.
func expected(t interface{ Fatal(...any) }, e *encoding, text string) (n int) {
	split := pattern(e.cased)
	match, err := split.FindStringMatch(string([]rune(text)))
	for ; match != nil && err == nil; match, err = split.FindNextMatch(match) {
		if e.tokens.findRank(match.String()) != noRank {
			n++
			continue
		}
		n += len(merged(e.tokens, match.String()))
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func merged(tokens *table, part string) (list []string) {
	for i := range len(part) {
		list = append(list, part[i:i+1])
	}
	for {
		least, at := uint32(noRank), 0
		for i := range len(list) - 1 {
			if rank := tokens.findRank(list[i] + list[i+1]); rank < least {
				least, at = rank, i
			}
		}
		if least == noRank {
			return list
		}
		list = slices.Replace(list, at, at+2, list[at]+list[at+1])
	}
}

func loaded(t interface{ Fatal(...any) }, b *bpe) *encoding {
	e, err := b.load()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// pattern is that of tiktoken. The group around it keeps a library from using what it generated
// for the same pattern, which splits some white space otherwise.
func pattern(cased bool) *regexp2.Regexp {
	const contraction, rest = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`, `|\s*[\r\n]+|\s+(?!\S)|\s+)`
	if cased {
		return regexp2.MustCompile(`(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`+contraction+
			`?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`+contraction+
			`?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*`+rest, regexp2.None)
	}
	return regexp2.MustCompile(`(?:`+contraction+`|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*`+rest, regexp2.None)
}

// TestLongParts: what is merged by a heap counts as what the library merges.
func TestLongParts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{CL100K, O200K} {
		b := newBPE(name)
		for _, part := range []string{"a", "ab", "xyzzy", "word", "日本語", "-=", "=", "é", "QwErTy"} {
			for _, times := range []int{12, 13, 64, 65, 200, 500} {
				if text := strings.Repeat(part, times); loaded(t, b).countTokens(text) != counted(t, name, text) {
					t.Errorf("%s: %d times %q has %d tokens, want %d", name, times, part, loaded(t, b).countTokens(text), counted(t, name, text))
				}
			}
		}
	}
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
			if want, got := expected(t, loaded(t, b), text), b.Count(text); got != want {
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
			if want, got := expected(t, loaded(t, b), text), b.Count(text); got != want {
				t.Fatalf("%s: %q has %d tokens, counted %d", b.name, text, want, got)
			}
		}
	})
}
