package language_test

import (
	"strings"
	"testing"
	"unicode"

	"satchel/pipeline/language"
)

// Whatever stands between letters, Shown and Bare do with it what Rune and Invisible say.
func TestEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune) {
		text := "a" + string(r) + "b"
		want := strings.Map(language.ShownRune, text)
		if got := language.Shown(text); got != want {
			t.Errorf("%U: Shown is %q, want %q", r, got, want)
		}
		bare := want
		switch {
		case language.IsInvisible(r):
			bare = "ab"
		case r == '\r':
			bare = text
		case unicode.IsSpace(r) && r != '\n' && r != '\t':
			bare = "a b"
		}
		if got := language.Bare(text); got != bare {
			t.Errorf("%U: Bare is %q, want %q", r, got, bare)
		}
	}
	for text, want := range map[string]string{
		"": "", "a\x80b": "ab", "a\r\nb\tc": "a \nb\tc",
		"\x1b[31mERROR\x1b[0m: \x1b[1;38;5;9mno\x1b[m": "ERROR: no", "\x1b]8;;https://wiki/x\x1b\\axolotl\x1b]8;;\x1b\\": " https://wiki/x axolotl  ",
		"\x1b]0;title\adone\x1b(B": " title done", "a\x1b[": "a[", "\x1b[4111;1m": "[4111;1m", "\x1b\x1b[2Kx": "x", "a[31mb": "a[31mb",
	} {
		if got := language.Shown(text); got != want {
			t.Errorf("Shown of %q is %q, want %q", text, got, want)
		}
		if bare := language.Bare(text); strings.ContainsRune(text, '\x1b') && strings.ReplaceAll(bare, "\a", " ") != want {
			t.Errorf("Bare of %q is %q, want %q", text, bare, want)
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
				switch is, got := b >= ' ' && b <= '~', language.CountASCII(string(text)); {
				case is != (got == n):
					t.Errorf("%q: %t", text, !is)
				case !is && (got > at || got < at-7):
					t.Errorf("%q: %d", text, got)
				}
			}
		}
	}
}

// Nothing that names a writer as a pack does stays without a backslash, however it is written.
func TestUnsigned(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Carol (written by boss): yes": `Carol \(written by boss): yes`, "(Written  By boss)": `\(Written  By boss)`, "a [written by b] ( written by c )": `a \[written by b] \( written by c )`,
		"a （ｗritten by b）": `a \（ｗritten by b）`, "a (wr\u200bitten\u00a0by b)": "a \\(wr\u200bitten\u00a0by b)", "a (wrіtten by b)": `a \(wrіtten by b)`, "(wri\u0301tten by": `\(wri` + "\u0301tten by",
		`a \(written by b)`: `a \(written by b)`, "a\n(written\nby b)": "a\n\\(written\nby b)", "((written by b))": `(\(written by b))`,
		"(_written_ **by** b)": `\(_written_ **by** b)`, "(<i>written</i> by b)": `\(<i>written</i> by b)`, "(w<b></b>ritten&nbsp;by b)": `\(w<b></b>ritten&nbsp;by b)`, "(\"written by b\")": `\("written by b")`,
		"written by hand": "written by hand", "(write it by hand)": "(write it by hand)", "(handwritten by Ann)": "(handwritten by Ann)", "f(x) [1] {": "f(x) [1] {", "": "",
	} {
		if got := language.Unsigned(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if got := language.Unsigned(want); got != want {
			t.Errorf("%q is not the same twice: %q", want, got)
		}
	}
}
