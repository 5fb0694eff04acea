package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// Lint is satchel lint.
type Lint struct {
	Files []string `arg:"" help:"JSONL files of memory items or CloudEvents; - reads standard input."`
}

// Help shows how it is called.
func (Lint) Help() string {
	return `A line has to be a whole memory item, as it is published (satchel schema memory-item), or a
CloudEvent of one, with its security labels. "satchel import" takes less: where they are absent it
fills in ` + filledIn + `.

Examples:
  satchel lint memories.jsonl
  cat *.jsonl | satchel lint -

Exit code 3 when a line is malformed or unlabelled.`
}

// filledIn is what import fills in where a line of JSONL has no such field.
const filledIn = "id, type, kind, scope, created_at and security_label"

// fillable reports whether the issues of a line are about such fields alone, and that they
// are not there.
func fillable(issues []schemas.Issue) bool {
	return !slices.ContainsFunc(issues, func(i schemas.Issue) bool {
		switch i.Pointer {
		case "/id", "/type", "/kind", "/scope/tenant", "/created_at":
			return i.Message != "is required"
		}
		return i.Pointer != "/security_label" || !strings.HasPrefix(i.Message, "is unlabelled")
	})
}

// LintFinding is one problem of one line.
type LintFinding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// Run checks the files and prints each problem with its line and JSON pointer.
func (c Lint) Run(a *app.App) error {
	bad := 0
	lines := 0
	lacking := 0
	for _, name := range c.Files {
		r, closeFile, err := Open(name, a.In)
		if err != nil {
			return err
		}
		var printErr error
		rep, err := schemas.Lint(r, func(line int, issues []schemas.Issue) {
			if fillable(issues) {
				lacking++
			}
			for _, i := range issues {
				f := LintFinding{File: name, Line: line, Pointer: i.Pointer, Message: i.Message}
				if a.JSON {
					printErr = printJSONLine(a, f)
				} else {
					fmt.Fprintf(a.Out, "%s:%d: %s: %s\n", f.File, f.Line, OrDocument(f.Pointer), f.Message)
				}
			}
		})
		closeFile()
		if err != nil {
			return fmt.Errorf("lint %s: %w", name, err)
		}
		if printErr != nil {
			return printErr
		}
		lines = lines + rep.Lines
		bad = bad + rep.Bad
	}
	if lacking > 0 {
		fmt.Fprintf(a.Err, "%s only what satchel import fills in where it is absent: %s\n", terminal.Plural(lacking, "line lacks", "lines lack"), filledIn)
	}
	if bad > 0 {
		return &FoundError{What: fmt.Sprintf("%d of %d lines are malformed or unlabelled", bad, lines)}
	}
	if !a.JSON {
		fmt.Fprintf(a.Out, "%s, all well formed and labelled\n", terminal.Plural(lines, "line", "lines"))
	}
	return nil
}

// OrDocument names the part of a document at a JSON pointer.
func OrDocument(pointer string) string {
	if pointer == "" {
		return "(whole line)"
	}
	return pointer
}

// Open opens a file, or standard input for "-".
func Open(name string, in io.Reader) (io.Reader, func(), error) {
	if name == "-" {
		return in, func() {}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, config.Usagef("%v", err)
	}
	return f, func() { _ = f.Close() }, nil
}
