package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"satchel/pipeline/language"
)

// Plain is what commands print to. It takes away what would command a terminal or
// reorder text on it (language.Shown): much of what is printed was written by others.
// What has to pass as it is, is written to below it, see beneath and exact.
type Plain struct {
	mu   sync.Mutex
	W    io.Writer
	held []byte // the beginning of a character that a write ended within
}

// Write writes p without what plain takes away.
func (o *Plain) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := append(o.held, p...)
	end := len(text)
	for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			end = i
		}
	}
	o.held = bytes.Clone(text[end:])
	if _, err := io.WriteString(o.W, language.Shown(string(text[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Beneath is what is below plain: for our own control of a terminal, and what is made plain already.
func Beneath(w io.Writer) io.Writer {
	if o, ok := w.(*Plain); ok {
		return o.W
	}
	return w
}

// Escaped writes the characters of JSON that are not printable as \u escapes: all of them
// stand in strings.
func Escaped(text string) string {
	if language.Shown(text) == text {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		s := string(r)
		if language.Shown(s) == s {
			b.WriteString(s)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
