package injection

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// traits are what a pass over the bytes of a text says about how it is written.
type traits struct {
	wide     int // bytes outside ASCII
	percents int // of %41
	mixed    int // words of letters and digits
	run      int // longest run of letters, digits, + and /
	singles  int // single characters between separators
	words    int
}

func traitsOf(text string) traits {
	var t traits
	run := 0
	letters := 0
	digits := 0
	length := 0
	for i := 0; i <= len(text); i++ {
		b := byte(' ')
		if i < len(text) {
			b = text[i]
		}
		switch {
		case isLetterByte(b):
			t.wide += int(b >> 7)
			letters++
		case isDigitByte(b):
			digits++
		default:
			if b == '%' && i+2 < len(text) {
				t.percents++
			}
			if letters+digits > 0 {
				t.words++
				if letters > 0 && digits > 0 {
					t.mixed++
				}
				if letters+digits == 1 {
					t.singles++
				}
			}
			letters = 0
			digits = 0
			if b != '+' && b != '/' {
				run = 0
				length = 0
			}
			continue
		}
		length++
		run = length
		if run > t.run {
			t.run = run
		}
	}
	return t
}

// listViews returns what a text says once its encoding is undone: addresses' and HTML's
// escapes, base64 and hexadecimal runs, accents and look-alike letters, invisible
// characters, letters set apart, digits for letters, rotated and reversed alphabets,
// words run together. Only what a text has traits of is tried, so that plain text
// costs one pass over its bytes.
// It returns the text as it is read, too.
func listViews(text string) (out []string, plain string) {
	plain = undoEscapes(text)
	if plain != text {
		out, _ = listViews(plain)
		out = append(out, plain)
	}
	t := traitsOf(text)
	add := func(view string) {
		if view != "" && view != text {
			out = append(out, view)
		}
	}
	base := text
	if t.wide > 0 {
		if folded := foldLetters(text); folded != text && 4*t.wide > t.words {
			add(folded)
			base = folded
		}
	}
	if t.percents > 2 {
		if s, err := url.QueryUnescape(base); err == nil {
			add(s)
		}
	}
	if t.run >= 24 {
		add(decodeRuns(base))
	}
	switch {
	case t.words > 4 && 2*t.singles > t.words:
		add(joinLetters(base))
	case 3*t.mixed > t.words:
		add(decodeLeet(base))
		add(segmentText(decodeLeet(base)))
	case t.run >= 20 && t.words < 8:
		add(segmentText(base))
	}
	if t.words > 3 && foreignTo(base) {
		add(chooseReadable(rotateLetters(base), reverseText(base)))
	}
	return out, plain
}

// foldLetters maps accented, wide, mathematical and look-alike letters to ASCII, drops what
// is invisible, and reads the letters of the tag block.
func foldLetters(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r >= 0xE0020 && r < 0xE007F:
			b.WriteRune(r - 0xE0000)
		case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Cf, r):
		default:
			if i := strings.IndexRune(lookAlikes, r); i >= 0 {
				b.WriteByte(latin[utf8.RuneCountInString(lookAlikes[:i])])
				continue
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

const (
	lookAlikes = "аеорсухіјѕԁһԛԝкмтпвАЕОРСУХІЈЅКМТНВαοερικντυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧɑɡıⅼ"
	latin      = "aeopcyxijsdhqwkmtnbAEOPCYXIJSKMTHBaoepikvtuxABEZHIKMNOPTYXagil"
)

// decodeRuns decodes base64 and hexadecimal runs in place.
func decodeRuns(text string) string {
	var b strings.Builder
	changed := false
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && (text[j] < 0x80 && isLetterByte(text[j]) || isDigitByte(text[j]) || text[j] == '+' || text[j] == '/' || text[j] == '=' || text[j] == '-' || text[j] == '_') {
			j++
		}
		if j-i >= 24 {
			if plain, ok := decodeRun(text[i:j]); ok {
				b.WriteString(plain)
				changed = true
				i = j
				continue
			}
		}
		j = max(j, i+1)
		b.WriteString(text[i:j])
		i = j
	}
	if !changed {
		return ""
	}
	return b.String()
}

func decodeRun(run string) (string, bool) {
	if plain, err := hex.DecodeString(run); err == nil && isReadable(plain) {
		return string(plain), true
	}
	bare := strings.TrimRight(run, "=")
	for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if plain, err := code.DecodeString(bare); err == nil && isReadable(plain) {
			return string(plain), true
		}
	}
	return "", false
}

func isReadable(b []byte) bool {
	good := 0
	for _, c := range b {
		if c >= ' ' && c < 0x7F || c == '\n' {
			good++
		}
	}
	return len(b) > 8 && 20*good >= 19*len(b)
}

// joinLetters joins letters that are set apart: "i g n o r e  a l l", "i.g.n.o.r.e".
func joinLetters(text string) string {
	var b strings.Builder
	gap := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == ' ' || c == '.' || c == '-' || c == '_' || c == '*' || c == '\n' {
			gap++
			continue
		}
		if gap > 1 && b.Len() > 0 {
			b.WriteByte(' ')
		}
		gap = 0
		b.WriteByte(c)
	}
	return segmentText(decodeLeet(b.String()))
}

// decodeLeet reads digits and signs inside words as letters.
func decodeLeet(text string) string {
	const from, to = "0134578@$", "oieasttas"
	out := []byte(text)
	for i, c := range out {
		at := strings.IndexByte(from, c)
		if at < 0 {
			continue
		}
		before := i > 0 && (isLetterByte(text[i-1]) || strings.IndexByte(from, text[i-1]) >= 0)
		after := i+1 < len(text) && (isLetterByte(text[i+1]) || strings.IndexByte(from, text[i+1]) >= 0)
		if before || after {
			out[i] = to[at]
		}
	}
	return string(out)
}

func rotateLetters(text string) string {
	out := []byte(text)
	for i, c := range out {
		switch {
		case c >= 'a' && c <= 'z':
			out[i] = 'a' + (c-'a'+13)%26
		case c >= 'A' && c <= 'Z':
			out[i] = 'A' + (c-'A'+13)%26
		}
	}
	return string(out)
}

func reverseText(text string) string {
	out := []byte(text)
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return strings.ToValidUTF8(string(out), "")
}

// foreignTo reports whether hardly a word of a text is a common English one.
func foreignTo(text string) bool {
	hits, words := countCommonWords(text)
	return words > 3 && 12*hits < words
}

func chooseReadable(a, b string) string {
	x, n := countCommonWords(a)
	y, _ := countCommonWords(b)
	switch {
	case 6*max(x, y) < n:
		return ""
	case x >= y:
		return a
	}
	return b
}
