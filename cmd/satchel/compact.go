package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"satchel/pipeline/compaction/blob"
	"satchel/pipeline/pack"
	"satchel/schemas"
)

type compactCmd struct {
	Pack    string `arg:"" optional:"" help:"Id of the pack."`
	Session string `help:"Instead of a pack: what this session holds."`
	File    string `help:"Instead of a pack: a log, table, diff, test report, JSON or search results; - is the input. Nothing is kept." type:"path"`
	Query   string `help:"What the context is for; picks what is kept."`
	Budget  int    `help:"Tokens of the smaller pack." default:"1000" min:"1" max:"1000000000"`
	Lines   int    `help:"With --file: lines at most." default:"48" min:"1" max:"1000000"`
	asker
}

// Help shows how it is called.
func (compactCmd) Help() string {
	return `The smaller pack shows items whole or in extracts, word for word; its drop report names every
character that is left out. Summaries of items, of clusters and of the session are kept as
memories of kind summary, with the labels of what they were made from.

Examples:
  satchel compact 019cc7a5-0000-7000-8000-000000000042 --budget 500 --query "who renewed the certificate?"
  satchel compact --session support-17 --budget 800
  satchel compact --file build.log --query "why did it fail?"`
}

// Run compacts a pack, a session or a file.
func (c *compactCmd) Run(ctx context.Context, a *app) error {
	if c.File != "" {
		return c.file(a)
	}
	if (c.Pack == "") == (c.Session == "") {
		return usagef("name a pack, or a session with --session, or a file with --file")
	}
	var out schemas.CompactReply
	req := schemas.CompactRequest{From: c.agent(), Purpose: c.Purpose, PackID: c.Pack, Session: c.Session, Query: c.Query, Budget: c.Budget}
	if err := a.door(ctx, "compact", req, &out); err != nil {
		return err
	}
	if err := a.warnUnused(ctx, len(out.Results)+len(out.Drop.Drops)+len(out.Drop.Denied) == 0); err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(out)
	}
	fmt.Fprintln(a.out, strings.TrimRight(out.Text, "\n"))
	fmt.Fprintln(a.out)
	fmt.Fprintf(a.out, "shown    %s, %d of %d tokens\n", plural(len(out.Results), "item", "items"), out.Compacted.TokenActual, out.Compacted.TokenBudget)
	parts := 0
	for _, section := range out.Compacted.Sections {
		for _, item := range section.Items {
			if len(item.Spans) > 0 {
				parts++
			}
		}
	}
	fmt.Fprintf(a.out, "saved    %d tokens: %s left out, %s shown in part\n", out.Drop.TokenSavings, plural(len(out.Drop.DroppedItemIDs), "item", "items"), plural(parts, "item", "items"))
	for _, s := range out.Summaries {
		fmt.Fprintf(a.out, "kept     %s, of %s, from %d, %d tokens, entry %d\n", s.ID, s.Level, len(s.Links), s.Tokens, s.Position)
	}
	fmt.Fprintf(a.out, "proof    pack %s is entry %d of the log\n", out.Compacted.ID, out.Positions.Pack)
	a.printWarnings(out.Warnings)
	return nil
}

// file summarises a file as a stream.
func (c *compactCmd) file(a *app) error {
	in := a.in
	if c.File != "-" && !strings.HasSuffix(c.File, string(os.PathSeparator)+"-") {
		f, err := os.Open(c.File)
		if err != nil {
			return usagef("read %s: %v", c.File, errors.Unwrap(err))
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
		return a.printJSON(s)
	}
	for line := range strings.Lines(s.String()) {
		if _, err := io.WriteString(a.out, excerpt(strings.TrimRight(line, "\n"), 400)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

type droppedCmd struct {
	Pack string   `arg:"" help:"Id of the pack whose drop report names them."`
	Item []string `arg:"" help:"Items; id:START-END for a dropped span alone."`
	asker
}

// Help shows how it is called.
func (droppedCmd) Help() string {
	return `Policy decides anew. What it denies, what the report does not name and what has changed since
is missing.

Examples:
  satchel dropped 019cc7a5-0000-7000-8000-000000000042 note-012 note-017
  satchel dropped 019cc7a5-0000-7000-8000-000000000042 note-012:140-388`
}

// Run brings back what a pack left out.
func (c *droppedCmd) Run(ctx context.Context, a *app) error {
	req := schemas.RecoverRequest{From: c.agent(), Purpose: c.Purpose, PackID: c.Pack}
	for _, name := range c.Item {
		at := strings.LastIndexByte(name, ':')
		var sp schemas.Span
		if at > 0 {
			if n, err := fmt.Sscanf(name[at+1:], "%d-%d", &sp.Start, &sp.End); err == nil && n == 2 {
				req.Spans = append(req.Spans, schemas.SpanRef{ItemID: name[:at], Span: sp})
				continue
			}
		}
		req.ItemIDs = append(req.ItemIDs, name)
	}
	var out schemas.RecoverReply
	if err := a.door(ctx, "recover", req, &out); err != nil {
		return err
	}
	if a.JSON {
		if err := a.printJSON(out); err != nil {
			return err
		}
	} else {
		c.print(a, &out)
	}
	if len(out.Results) == 0 && len(out.Missing) > 0 {
		return usagef("pack %s: nothing that was named may come back", c.Pack)
	}
	return nil
}

func (c *droppedCmd) print(a *app, out *schemas.RecoverReply) {
	for _, r := range out.Results {
		fmt.Fprintf(beneath(a.out), "%s\n%s\n", a.bold(excerpt(r.ID, 400)), strings.TrimRight(pack.Printable(r.Content.Text()), "\n"))
	}
	for _, id := range out.Missing {
		fmt.Fprintf(a.out, "%s: it may not come back: not named, denied, changed or erased\n", id)
	}
}
