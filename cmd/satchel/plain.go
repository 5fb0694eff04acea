package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"

	"satchel/pipeline/pack"
)

// plain is what commands print to. It takes away what would command a terminal or
// reorder text on it (pack.Printable): much of what is printed was written by others.
// What has to pass as it is, is written to below it, see beneath and exact.
type plain struct {
	mu   sync.Mutex
	w    io.Writer
	held []byte // the beginning of a character that a write ended within
}

// Write writes p without what plain takes away.
func (o *plain) Write(p []byte) (int, error) {
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
	if _, err := io.WriteString(o.w, pack.Printable(string(text[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// beneath is what is below plain: for our own control of a terminal, and what is made plain already.
func beneath(w io.Writer) io.Writer {
	if o, ok := w.(*plain); ok {
		return o.w
	}
	return w
}

// exact is for content that a program or a file is to get byte by byte; a terminal
// gets it plain.
func (a *app) exact() io.Writer {
	if f, ok := a.file(); ok && term.IsTerminal(int(f.Fd())) {
		return a.out
	}
	return beneath(a.out)
}

// file returns the file that is standard output, if it is one.
func (a *app) file() (*os.File, bool) {
	out := beneath(a.out)
	if p, ok := out.(*pipe); ok {
		out = p.w
	}
	f, ok := out.(*os.File)
	return f, ok
}

// printJSON prints v, indented.
func (a *app) printJSON(v any) error { return a.encode(v, "  ") }

// printJSONLine prints v on one line.
func (a *app) printJSONLine(v any) error { return a.encode(v, "") }

// encode writes v as JSON in which escapes stand for the characters that plain would
// take away, so that nothing is lost.
func (a *app) encode(v any, indent string) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(a.out, escaped(b.String()))
	return err
}

// escaped writes the characters of JSON that are not printable as \u escapes: all of them
// stand in strings.
func escaped(text string) string {
	if pack.Printable(text) == text {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		s := string(r)
		if pack.Printable(s) == s {
			b.WriteString(s)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
