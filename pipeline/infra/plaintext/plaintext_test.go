package plaintext_test

import (
	"strings"
	"testing"
	"unicode"

	"satchel/pipeline/infra/plaintext"
)

// Whatever stands between letters, Shown and Bare do with it what Rune and Invisible say.
func TestEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune) {
		text := "a" + string(r) + "b"
		want := strings.Map(plaintext.Rune, text)
		if got := plaintext.Shown(text); got != want {
			t.Errorf("%U: Shown is %q, want %q", r, got, want)
		}
		hidden := plaintext.Rune(r) < 0 || plaintext.Invisible(r)
		if got := plaintext.Bare(text); got != "ab" && hidden || got != text && !hidden && r != unicode.ReplacementChar && !(r >= 0xD800 && r < 0xE000) {
			t.Errorf("%U: Bare is %q", r, got)
		}
	}
	for text, want := range map[string]string{"": "", "a\x80b": "ab", "a\r\nb\tc": "a \nb\tc"} {
		if got := plaintext.Shown(text); got != want {
			t.Errorf("Shown of %q is %q, want %q", text, got, want)
		}
	}
}

// TestASCII looks for a byte that is none at every place.
func TestASCII(t *testing.T) {
	t.Parallel()
	for n := range 19 {
		for at := range n {
			for b := range 256 {
				text := []byte(strings.Repeat(" ~", n)[:n])
				text[at] = byte(b)
				switch is, got := b >= ' ' && b <= '~', plaintext.ASCII(string(text)); {
				case is != (got == n):
					t.Errorf("%q: %t", text, !is)
				case !is && (got > at || got < at-7):
					t.Errorf("%q: %d", text, got)
				}
			}
		}
	}
}
