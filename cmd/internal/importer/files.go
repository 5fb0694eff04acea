package importer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// Files is satchel import files.
type Files struct {
	Flags
	Paths  []string `arg:"" help:"JSONL files, documentation (.md, .markdown, .mdx, .rst) or folders of both; - reads JSONL from standard input."`
	Kind   string   `help:"Kind of items that name none; default knowledge for documentation, memory for JSONL." placeholder:"KIND"`
	Name   string   `help:"Name of the folder of documentation; its files keep their ids wherever the folder is." placeholder:"NAME"`
	Keep   bool     `help:"Leave as it is what is no longer in the documentation."`
	Strict bool     `help:"Publish nothing when an item is malformed."`
	fieldFlags
}

// Help shows how it is called.
func (Files) Help() string {
	return `Each item's event id is made from its content, so importing a file again stores nothing twice.
A line without created_at gets the time its file was changed; from standard input, the present.

Fields that have the names of an item's are kept, --map or not. A field that no item has is named once, with how
many lines have it, and these lines are refused: keep the field with --map attributes.NAME=YOURS, or leave it out
with --drop-unknown. Times that are mapped may be seconds or milliseconds since 1970, or days. Where one line of a
file has a security_label, a line without one is refused, unless --label says what such lines get.

An item is a line of JSONL, or the text under a heading of a documentation file, with the headings above it on
its first line. A section is of kind knowledge and has path, line, end_line and heading as attributes. In a git
repository its created_at, and its attribute date, are those of the commit that changed the file last.

A line without an id gets one of its content; a section's is made from its headings and from where the file is,
or --name and the path below the folder, so that a changed section replaces its older version and one of another
folder never does. A section that is no longer in its file, and those of a file that is no longer in a folder that
is read, end (valid_to): requests show them no longer. For this the log is read, in the data folder (--dir) or the
database; where it is not on this machine, or with --keep, they stay. A line of JSONL over 8 MiB is named and left
out. Of a folder only documentation of at most 12 MiB and .jsonl files are read, no links: other files are counted and
left out, and items that an earlier import made of them stay. In a git repository, files that .gitignore names are
neither read nor counted, unless git tracks them.

Malformed items are named, counted and left out: a line that is no item or is of another tenant than --tenant,
and documentation that is not UTF-8. Items that the worker refuses are counted, too, with the first ten reasons
(satchel dlq ls has them all). Both end in exit code 3.

Examples:
  satchel import memories.jsonl
  satchel import chat.jsonl --map content=text --map created_at=ts --map attributes.user_id=user
  satchel import ./docs --label level:internal
  satchel import ~/src/kiln/docs --name kiln-docs`
}

// FilesResult counts what an import did.
type FilesResult struct {
	Read      int `json:"read"`
	Published int `json:"published"`
	Known     int `json:"known"` // of those, what the log had already
	Malformed int `json:"malformed"`
	Refused   int `json:"refused"` // of what was published, by the worker
	Ended     int `json:"ended"`   // sections of Markdown that are gone

	LeftOut map[string]int `json:"left_out,omitempty"` // files of a folder, by reason
}

// filesRead is what an import has read of files.
type filesRead struct {
	FilesResult
	a     *app.App
	items []schemas.MemoryItem
	where []string // the items were read
	fresh int      // of what was published, what the log has now and had not before
}

// add takes an item, or prints what is wrong with it.
func (f *filesRead) add(where string, item schemas.MemoryItem, issues []schemas.Issue) {
	f.Read++
	if len(issues) > 0 {
		f.Malformed++
		printIssues(f.a, where, issues)
		return
	}
	f.items = append(f.items, item)
	f.where = append(f.where, where)
}

// open dials, unless something is malformed and strict forbids to publish then. The publisher MUST be closed.
func (f *filesRead) open(ctx context.Context, as Flags, strict bool, what string) (*publisher, error) {
	if strict && f.Malformed > 0 {
		return nil, &command.FoundError{What: fmt.Sprintf("%d of %d %s are malformed; nothing was published", f.Malformed, f.Read, what)}
	}
	return newPublisher(ctx, f.a, as)
}

// publish publishes the items.
func (f *filesRead) publish(ctx context.Context, p *publisher, what string) error {
	err := p.addAll(ctx, what, f.items, f.where)
	f.Published = p.Published
	f.Known = p.Known
	f.fresh = p.New()
	return err
}

// finish waits until what was published is found by requests, and counts what was left out.
func (f *filesRead) finish(ctx context.Context, p *publisher) (ending, error) {
	indexed, err := p.finish(ctx)
	f.Malformed += p.Malformed
	f.Refused = p.Refused
	return ending{indexed, f.Malformed, f.Refused}, err
}

// Run publishes what the paths hold.
func (c *Files) Run(ctx context.Context, a *app.App) error {
	did, md, err := c.read(ctx, a)
	if err != nil {
		return err
	}
	p, err := did.open(ctx, c.Flags, c.Strict, "items")
	if err != nil {
		return err
	}
	defer p.close()
	here := true
	if len(md.files)+len(md.folders) > 0 && p.head.Size > 0 && !c.Keep {
		p.held, here, err = heldDocuments(ctx, a, &p.head)
		if err != nil {
			return err
		}
		keepDates(did.items, p.held)
	}
	if err := did.publish(ctx, p, "importing"); err != nil {
		return err
	}
	did.Ended, err = md.end(ctx, p)
	if err != nil {
		return err
	}
	end, err := did.finish(ctx, p)
	if err != nil {
		return err
	}
	if !here {
		fmt.Fprintln(a.Err, "the log is not on this machine, so sections that are gone were not looked for")
	}
	ended := ""
	if did.Ended > 0 {
		ended = "; " + terminal.Plural(did.Ended, "section that is gone has", "sections that are gone have") + " ended"
	}
	return end.report(a, did.FilesResult, fmt.Sprintf("%s read, %d published: %d new, %d known already, %d malformed%s%s\n%s", terminal.Plural(did.Read, "item", "items"),
		did.Published, did.fresh, did.Known, did.Malformed, ifAny(did.Refused, ", %d refused"), ended, filesLeftOut(did.LeftOut)))
}

// read collects the items of every path and prints what is malformed.
func (c *Files) read(ctx context.Context, a *app.App) (*filesRead, *documentsRead, error) {
	did := &filesRead{a: a}
	md := &documentsRead{files: map[string]string{}, ids: map[string]bool{}, left: map[string]bool{}, reasons: map[string]int{}}
	add := func(where string, item schemas.MemoryItem, issues []schemas.Issue) {
		if len(issues) == 0 {
			_, issues = encodeItem(&item)
		}
		did.add(where, item, issues)
	}
	if _, err := newMapping(c.fieldFlags); err != nil {
		return nil, nil, err
	}
	for _, p := range c.Paths {
		info, err := os.Stat(p)
		switch {
		case p == "-":
			err = c.readFile(a, p, add)
		case err != nil:
			err = config.Usagef("%v", err)
		case info.IsDir() || source.IsDocument(p):
			err = c.readFolder(ctx, a, p, info.IsDir(), md, add)
		default:
			err = c.readFile(a, p, add)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	did.LeftOut = md.reasons
	return did, md, nil
}

// readFile reads one JSONL file, or standard input.
func (c *Files) readFile(a *app.App, name string, add adder) error {
	read, err := c.lines(a, name)
	if err != nil {
		return err
	}
	return read.readFile(a.In, add)
}

// lines are those of a file of JSONL.
func (c *Files) lines(a *app.App, name string) (*lines, error) {
	fields, err := newMapping(c.fieldFlags)
	l := &lines{a: a, name: name, fields: fields, explicit: len(c.Label) > 0, content: true}
	l.item = func(raw []byte, _, mapped object) (schemas.MemoryItem, []schemas.Issue) {
		replaceSigns(mapped)
		if issues := c.fill(a.Tenant, mapped, raw, l.written); issues != nil {
			return schemas.MemoryItem{}, issues
		}
		return decodeItem(mapped, a.Tenant)
	}
	return l, err
}

// kind is that of items that name none.
func (c *Files) kind(otherwise schemas.Kind) schemas.Kind {
	return cmp.Or(schemas.Kind(c.Kind), otherwise)
}

// fill adds what an import may leave out.
func (c *Files) fill(tenant string, out object, raw []byte, written time.Time) []schemas.Issue {
	defaults := map[string]any{"type": schemas.Episodic, "kind": c.kind(schemas.KindMemory), "security_label": c.labels(),
		"scope": schemas.MemoryScope{Tenant: tenant}, "created_at": written.UTC().Truncate(time.Second), "id": source.Hash(raw, 16)}
	var scope map[string]any
	err := json.Unmarshal(out["scope"], &scope)
	if named := scope["tenant"]; err == nil && scope != nil && slices.Contains([]any{nil, ""}, named) {
		scope["tenant"] = tenant
		defaults["scope"] = scope
		delete(out, "scope")
	}
	for field, v := range defaults {
		if _, ok := out[field]; ok {
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			return []schemas.Issue{{Pointer: "/" + field, Message: err.Error()}}
		}
		out[field] = b
	}
	return nil
}
