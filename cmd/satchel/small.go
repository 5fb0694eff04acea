package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"

	"satchel/schemas"
)

type versionCmd struct{}

// Help shows how it is called.
func (versionCmd) Help() string { return "Example:\n  satchel version --json" }

// Run prints the module version and what it was built from.
func (versionCmd) Run(a *app) error {
	info, ok := debug.ReadBuildInfo()
	v := map[string]string{"version": "(devel)"}
	if ok {
		v["version"], v["go"] = info.Main.Version, info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v["revision"] = s.Value
			}
		}
	}
	if a.JSON {
		return a.printJSON(v)
	}
	fmt.Fprintf(a.out, "satchel %s %s %s\n", v["version"], v["revision"], v["go"])
	return nil
}

type configCmd struct{}

// Help shows how it is called.
func (configCmd) Help() string {
	return "Examples:\n  satchel config\n  SCS_MAX_TOKENS_DEFAULT=8000 satchel config --json"
}

// Run prints the effective settings.
func (configCmd) Run(a *app) error {
	a.printWarnings(a.settingWarnings())
	list := a.effective()
	if a.JSON {
		return a.printJSON(list)
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for _, s := range list {
		fmt.Fprintf(w, "--%s\t%s\t%s\t%s\n", s.Name, s.Env, s.Value, s.Help)
	}
	return w.Flush()
}

type schemaCmd struct {
	Name string `arg:"" optional:"" help:"Schema to print; without one their names are listed. asyncapi prints the AsyncAPI document."`
}

// Help shows how it is called.
func (schemaCmd) Help() string {
	return "Examples:\n  satchel schema\n  satchel schema memory-item > memory-item.json\n  satchel schema asyncapi"
}

// Run prints one schema, or the names.
func (c schemaCmd) Run(a *app) error {
	switch c.Name {
	case "":
		names := append(schemas.Names(), "asyncapi")
		if a.JSON {
			return a.printJSON(names)
		}
		fmt.Fprintln(a.out, strings.Join(names, "\n"))
		return nil
	case "asyncapi":
		_, err := a.out.Write(schemas.AsyncAPI())
		return err
	}
	doc, err := schemas.JSONSchema(c.Name)
	if err != nil {
		return usagef("no schema is called %q; satchel schema lists them", c.Name)
	}
	_, err = a.out.Write(doc)
	return err
}

type lintCmd struct {
	Files []string `arg:"" help:"JSONL files of memory items or CloudEvents; - reads standard input."`
}

// Help shows how it is called.
func (lintCmd) Help() string {
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

// lintFinding is one problem of one line.
type lintFinding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// Run checks the files and prints each problem with its line and JSON pointer.
func (c lintCmd) Run(a *app) error {
	bad, lines, lacking := 0, 0, 0
	for _, name := range c.Files {
		r, closeFile, err := open(name, a.in)
		if err != nil {
			return err
		}
		var printErr error
		rep, err := schemas.Lint(r, func(line int, issues []schemas.Issue) {
			if fillable(issues) {
				lacking++
			}
			for _, i := range issues {
				f := lintFinding{File: name, Line: line, Pointer: i.Pointer, Message: i.Message}
				if a.JSON {
					printErr = a.printJSONLine(f)
				} else {
					fmt.Fprintf(a.out, "%s:%d: %s: %s\n", f.File, f.Line, orDocument(f.Pointer), f.Message)
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
		lines, bad = lines+rep.Lines, bad+rep.Bad
	}
	if lacking > 0 {
		fmt.Fprintf(a.err, "%s only what satchel import fills in where it is absent: %s\n", plural(lacking, "line lacks", "lines lack"), filledIn)
	}
	if bad > 0 {
		return &foundError{fmt.Sprintf("%d of %d lines are malformed or unlabelled", bad, lines)}
	}
	if !a.JSON {
		fmt.Fprintf(a.out, "%s, all well formed and labelled\n", plural(lines, "line", "lines"))
	}
	return nil
}

func orDocument(pointer string) string {
	if pointer == "" {
		return "(whole line)"
	}
	return pointer
}

// open opens a file, or standard input for "-".
func open(name string, in io.Reader) (io.Reader, func(), error) {
	if name == "-" {
		return in, func() {}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, usagef("%v", err)
	}
	return f, func() { _ = f.Close() }, nil
}

// plural says how many there are of something: "1 item", "2 items".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
