// Package importer publishes memories from files, documentation, git histories, source code and experiences, and the
// values that experiences have in common.
//
// It promises that importing again stores nothing twice: an event's id is made from the item. What is malformed is named,
// counted and left out, what the worker refuses is counted with its reason, and both end in a FoundError. What is gone from
// a repository or a folder ends. The readers are in the package source and those below it; they do not publish.
package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/terminal"
)

// Import is satchel import.
type Import struct {
	Files Files `cmd:"" default:"withargs" help:"JSONL and documentation, files or folders; the default, so that \"import FILE\" is enough."`
	Repo  Repo  `cmd:"" help:"A git repository: commits, code and documentation in one."`
	Git   Git   `cmd:"" help:"The history of a git repository, as commits."`
	Code  Code  `cmd:"" help:"Functions, methods, classes and types of a folder of source files."`

	Experiences Experiences `cmd:"" help:"Experiences: goal, hypothesis, action, prediction and how it came out, from JSONL."`
}

// Flags are the flags of every import.
type Flags struct {
	Label []string `help:"Security labels of the items; without it, level:internal."`
	Agent string   `help:"Agent that publishes." default:"import" env:"SATCHEL_AS"`
	Role  []string `help:"Roles claimed: editor may record again what another agent has, declassifier may lower labels. With a principal registry, what it grants the agent counts instead."`
}

// labels are those of items that have none of their own.
func (f *Flags) labels() []string {
	if len(f.Label) == 0 {
		return []string{"level:internal"}
	}
	return f.Label
}

// ending is how an import ended.
type ending struct {
	indexed            bool // requests find all of it
	malformed, refused int
}

// report prints what an import did, as JSON or in words, and says what it has not done.
func (e ending) report(a *app.App, did any, words string) error {
	var err error
	switch {
	case a.JSON:
		err = command.PrintJSON(a, did)
	case e.indexed:
		_, err = fmt.Fprint(a.Out, words)
	default:
		_, err = fmt.Fprintln(a.Out, words+"all is published; the indexes are still catching up")
	}
	return errors.Join(err, e.leftOut())
}

// leftOut is the finding that some items were malformed or refused, nil for none.
func (e ending) leftOut() error {
	var what []string
	if e.malformed > 0 {
		what = append(what, terminal.Plural(e.malformed, "item is malformed and was left out", "items are malformed and were left out"))
	}
	if e.refused > 0 {
		what = append(what, terminal.Plural(e.refused, "item was refused", "items were refused"))
	}
	if len(what) == 0 {
		return nil
	}
	return &command.FoundError{What: strings.Join(what, "; ")}
}

// ifAny is a number in words, "" for zero.
func ifAny(n int, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// filesLeftOut says on a line how many files were not read, by reason; "" for none.
func filesLeftOut(files map[string]int) string {
	left, reasons := sumUp(files, "%[2]d %[1]s")
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("%s left out: %s\n", terminal.Plural(left, "file", "files"), reasons)
}

// sumUp adds counts and lists them in order of what they count.
func sumUp(counts map[string]int, format string) (sum int, list string) {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		sum += counts[name]
		parts = append(parts, fmt.Sprintf(format, name, counts[name]))
	}
	return sum, strings.Join(parts, ", ")
}
