package language

import "strings"

const (
	escape         = '\x1b'
	mostParameters = 48 // bytes
	mostDigits     = 3  // of one parameter
)

// EscapeSequence returns the size of the part of a terminal control sequence that a text begins with, 0 for none, and whether it
// parts words. Colours and movements show nothing. Of a link or a title its text is shown as any other: only what frames it is
// a control sequence.
func EscapeSequence(text string) (n int, parts bool) {
	if len(text) < 2 || text[0] != escape {
		return 0, false
	}
	switch text[1] {
	case '[':
		return measureControl(text), false
	case '(':
		if strings.HasPrefix(text, "\x1b(B") || strings.HasPrefix(text, "\x1b(0") {
			return len("\x1b(B"), false
		}
	case ']':
		return measureFrame(text), true
	case '\\':
		return len("\x1b\\"), true
	}
	return 0, false
}

// measureControl returns the size of a sequence of short parameters and a final letter.
func measureControl(text string) int {
	digits := 0
	for n := 2; n < min(len(text), mostParameters); n++ {
		switch c := text[n]; {
		case c >= '0' && c <= '9':
			digits++
			if digits > mostDigits {
				return 0
			}
		case c == ';' || c == ':' || c == '?':
			digits = 0
		case c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
			return n + 1
		default:
			return 0
		}
	}
	return 0
}

// measureFrame returns the size of what stands before the text of a link or a title: ESC ] 8 ; ;
func measureFrame(text string) int {
	n := 2
	for n < len(text) && n < 2+mostDigits && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	if n == 2 || n == len(text) || text[n] != ';' {
		return 0
	}
	n++
	if n < len(text) && text[n] == ';' {
		n++
	}
	return n
}

// withoutEscapes returns a text without the parts of terminal control sequences that show nothing.
func withoutEscapes(text string) string {
	at := strings.IndexByte(text, escape)
	if at < 0 {
		return text
	}
	var out strings.Builder
	for ; at >= 0; at = strings.IndexByte(text, escape) {
		n, parts := EscapeSequence(text[at:])
		out.WriteString(text[:at])
		if n > 0 && parts {
			out.WriteByte(' ')
		}
		text = text[at+max(1, n):]
	}
	return out.String() + text
}
