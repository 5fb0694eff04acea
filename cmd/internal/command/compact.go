package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/pipeline/compaction/blob"
	"satchel/schemas"
)

// Compact is satchel compact.
type Compact struct {
	Pack    string `arg:"" optional:"" help:"Id of the pack."`
	Session string `help:"Instead of a pack: what this session holds."`
	File    string `help:"Instead of a pack: a log, table, diff, test report, JSON or search results; - is the input. Nothing is kept." type:"path"`
	Query   string `help:"What the context is for; picks what is kept."`
	Budget  int    `help:"Tokens of the smaller pack." default:"1000" min:"1" max:"1000000000"`
	Lines   int    `help:"With --file: lines at most." default:"48" min:"1" max:"1000000"`
	PrincipalFlags
}

// Run compacts a pack, a session or a file.
func (c *Compact) Run(ctx context.Context, a *app.App) error {
	if c.File != "" {
		return c.file(a)
	}
	if (c.Pack == "") == (c.Session == "") {
		return config.Usagef("name a pack, or a session with --session, or a file with --file")
	}
	var out schemas.CompactReply
	req := schemas.CompactRequest{From: c.agent(), Purpose: c.Purpose, PackID: c.Pack, Session: c.Session, Query: c.Query, Budget: c.Budget}
	if err := Operation(ctx, a, "compact", req, &out); err != nil {
		return err
	}
	err := PrintReply(a, out, func(w io.Writer) { printCompacted(w, &out) })
	if !a.JSON {
		printWarnings(a, out.Warnings)
	}
	return err
}

// printCompacted prints the smaller pack, and what it leaves out.
func printCompacted(w io.Writer, out *schemas.CompactReply) {
	fmt.Fprintln(w, strings.TrimRight(out.Text, "\n"))
	fmt.Fprintln(w)
	fmt.Fprintf(w, "shown    %s, %d of %d tokens\n", terminal.Plural(len(out.Results), "item", "items"), out.Compacted.TokenActual, out.Compacted.TokenBudget)
	parts := 0
	for _, section := range out.Compacted.Sections {
		for _, item := range section.Items {
			if len(item.Spans) > 0 {
				parts++
			}
		}
	}
	fmt.Fprintf(w, "saved    %d tokens: %s left out, %s shown in part\n", out.Drop.TokenSavings, terminal.Plural(len(out.Drop.DroppedItemIDs), "item", "items"), terminal.Plural(parts, "item", "items"))
	for _, s := range out.Summaries {
		fmt.Fprintf(w, "kept     %s, of %s, from %d, %d tokens, entry %d\n", s.ID, s.Level, len(s.Links), s.Tokens, s.Position)
	}
	fmt.Fprintf(w, "proof    pack %s is entry %d of the log\n", out.Compacted.ID, out.Positions.Pack)
}

// file summarises a file as a stream.
func (c *Compact) file(a *app.App) error {
	in := a.In
	if c.File != "-" && !strings.HasSuffix(c.File, string(os.PathSeparator)+"-") {
		f, err := os.Open(c.File)
		if err != nil {
			return config.Usagef("read %s: %v", c.File, errors.Unwrap(err))
		}
		defer f.Close()
		in = f
	}
	written := slices.Contains([]string{".md", ".markdown", ".txt", ".rst", ".adoc", ".org", ".html"}, strings.ToLower(filepath.Ext(c.File)))
	s, err := blob.Summarise(in, blob.Options{Query: c.Query, Lines: c.Lines, Output: !written})
	if err != nil {
		return err
	}
	if a.JSON {
		return PrintJSON(a, s)
	}
	for line := range strings.Lines(s.String()) {
		if _, err := io.WriteString(a.Out, terminal.Excerpt(strings.TrimRight(line, "\n"), 400)+"\n"); err != nil {
			return err
		}
	}
	return nil
}
