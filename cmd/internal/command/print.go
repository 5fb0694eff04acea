package command

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/terminal"
)

// exact is for content that a program or a file is to get byte by byte; a terminal
// gets it plain.
func exact(a *app.App) io.Writer {
	if f, ok := file(a); ok && term.IsTerminal(int(f.Fd())) {
		return a.Out
	}
	return terminal.Beneath(a.Out)
}

// file returns the file that is standard output, if it is one.
func file(a *app.App) (*os.File, bool) {
	out := terminal.Beneath(a.Out)
	if p, ok := out.(*terminal.Pipe); ok {
		out = p.W
	}
	f, ok := out.(*os.File)
	return f, ok
}

// PrintJSON prints v, indented.
func PrintJSON(a *app.App, v any) error { return encodeSafe(a, v, "  ") }

// progress says how much of something is done.
type progress = func(done, total int64)

// runWithBar shows a bar while do runs.
func runWithBar(a *app.App, what string, do func(progress) error) error {
	bar := a.Progress(what)
	defer bar.End()
	return do(bar.Set)
}

// PrintReply prints v as JSON where that is asked for, else in words.
func PrintReply(a *app.App, v any, words func(w io.Writer)) error {
	if a.JSON {
		return PrintJSON(a, v)
	}
	w := &firstError{w: a.Out}
	words(w)
	return w.err
}

// PrintTable prints v as JSON where that is asked for, else lines whose cells are apart by tabs.
func PrintTable(a *app.App, v any, lines func(w io.Writer)) error {
	return PrintReply(a, v, func(w io.Writer) {
		table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		lines(table)
		_ = table.Flush() // w keeps its error
	})
}

// firstError writes until that fails, and keeps the error.
type firstError struct {
	w   io.Writer
	err error
}

// Write writes p, unless a write failed before.
func (f *firstError) Write(p []byte) (n int, err error) {
	if f.err == nil {
		n, f.err = f.w.Write(p)
	}
	return n, f.err
}

// printJSONLine prints v on one line.
func printJSONLine(a *app.App, v any) error { return encodeSafe(a, v, "") }

// encodeSafe writes v as JSON in which escapes stand for the characters that plain would
// take away, so that nothing is lost.
func encodeSafe(a *app.App, v any, indent string) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(a.Out, terminal.Escaped(b.String()))
	return err
}
