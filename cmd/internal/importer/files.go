package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source/document"
	"satchel/cmd/internal/terminal"
	"satchel/jetstream"
	"satchel/schemas"
)

// Import is satchel import.
type Import struct {
	Files Files `cmd:"" default:"withargs" help:"JSONL and documentation, files or folders; the default, so that \"import FILE\" is enough."`
	Repo  Repo  `cmd:"" help:"A git repository: commits, code and documentation in one."`
	Git   Git   `cmd:"" help:"The history of a git repository, as commits."`
	Code  Code  `cmd:"" help:"Functions, methods, classes and types of a folder of source files."`

	Experiences Experiences `cmd:"" help:"Experiences: goal, hypothesis, action, prediction and how it came out, from JSONL."`
}

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

	where []string // the items were read
	fresh int      // of what was published, what the log has now and had not before
}

// Run publishes what the paths hold.
func (c *Files) Run(ctx context.Context, a *app.App) error {
	items, md, count, err := c.read(ctx, a)
	if err != nil {
		return err
	}
	if c.Strict && count.Malformed > 0 {
		return &command.FoundError{What: fmt.Sprintf("%d of %d items are malformed; nothing was published", count.Malformed, count.Read)}
	}
	p, err := newPublisher(ctx, a, c.Flags)
	if err != nil {
		return err
	}
	defer p.close()
	here := true
	if len(md.files)+len(md.folders) > 0 && p.head.Size > 0 && !c.Keep {
		if p.held, here, err = heldMarkdown(ctx, a, &p.head); err != nil {
			return err
		}
		keepDates(items, p.held)
	}
	if err := p.addAll(ctx, "importing", items, count.where); err != nil {
		return err
	}
	count.Published, count.Known, count.fresh = p.Published, p.Known, p.New()
	if count.Ended, err = md.end(ctx, p); err != nil {
		return err
	}
	indexed, err := p.finish(ctx)
	if err != nil {
		return err
	}
	count.Refused = p.Refused()
	if err := count.print(a, here); err != nil {
		return err
	}
	return printUnfinished(a, indexed || a.JSON, count.Malformed, count.Refused)
}

// print says what was done; here is whether what is gone could be looked for.
func (d *FilesResult) print(a *app.App, here bool) error {
	if !here {
		fmt.Fprintln(a.Err, "the log is not on this machine, so sections that are gone were not looked for")
	}
	if a.JSON {
		return command.PrintJSON(a, d)
	}
	ended := ""
	if d.Ended > 0 {
		ended = "; " + terminal.Plural(d.Ended, "section that is gone has", "sections that are gone have") + " ended"
	}
	if d.Refused > 0 {
		ended = fmt.Sprintf(", %d refused", d.Refused) + ended
	}
	if _, err := fmt.Fprintf(a.Out, "%s read, %d published: %d new, %d known already, %d malformed%s\n",
		terminal.Plural(d.Read, "item", "items"), d.Published, d.fresh, d.Known, d.Malformed, ended); err != nil {
		return err
	}
	return printLeftOut(a, d.LeftOut)
}

// printLeftOut says how many files were not read, by reason.
func printLeftOut(a *app.App, files map[string]int) error {
	left := 0
	var reasons []string
	for _, r := range slices.Sorted(maps.Keys(files)) {
		left += files[r]
		reasons = append(reasons, fmt.Sprintf("%d %s", files[r], r))
	}
	if left == 0 {
		return nil
	}
	_, err := fmt.Fprintf(a.Out, "%s left out: %s\n", terminal.Plural(left, "file", "files"), strings.Join(reasons, ", "))
	return err
}

// read collects the items of every path and prints what is malformed.
func (c *Files) read(ctx context.Context, a *app.App) ([]schemas.MemoryItem, *markdownRead, FilesResult, error) {
	var items []schemas.MemoryItem
	var count FilesResult
	add := func(where string, item schemas.MemoryItem, issues []schemas.Issue) {
		count.Read++
		if len(issues) == 0 {
			issues = oversized(&item)
		}
		if len(issues) == 0 {
			items, count.where = append(items, item), append(count.where, where)
			return
		}
		count.Malformed++
		printIssues(a, where, issues)
	}
	md := newMarkdownRead()
	if _, err := newMapping(c.Map, c.DropUnknown); err != nil {
		return nil, md, count, err
	}
	for _, p := range c.Paths {
		info, err := os.Stat(p)
		switch {
		case p != "-" && err != nil:
			return nil, md, count, config.Usagef("%v", err)
		case p != "-" && (info.IsDir() || document.Known(p)):
			err = c.readFolder(ctx, a, p, info.IsDir(), md, add)
		default:
			err = c.readFile(a, p, add)
		}
		if err != nil {
			return nil, md, count, err
		}
	}
	count.LeftOut = md.reasons
	return items, md, count, nil
}

// readFile reads one JSONL file, or standard input.
func (c *Files) readFile(a *app.App, name string, add func(string, schemas.MemoryItem, []schemas.Issue)) error {
	r, closeFile, err := command.Open(name, a.In)
	if err != nil {
		return err
	}
	defer closeFile()
	written := time.Now()
	if f, ok := r.(*os.File); ok && name != "-" {
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		written = info.ModTime()
	}
	return c.readLines(a, name, r, written, add)
}

// readLines reads JSONL that was written at a time.
func (c *Files) readLines(a *app.App, name string, r io.Reader, written time.Time, add func(string, schemas.MemoryItem, []schemas.Issue)) error {
	hint := ""
	read := lines{name: name, explicit: len(c.Label) > 0}
	var err error
	if read.fields, err = newMapping(c.Map, c.DropUnknown); err != nil {
		return err
	}
	err = read.each(r, func(raw []byte) (schemas.MemoryItem, bool, []schemas.Issue) {
		item, labels, issues := c.decode(a, read.fields, raw, written)
		if hint == "" && len(c.Map) == 0 && len(issues) > 0 {
			hint = otherName(raw)
		}
		return item, labels, issues
	})
	if err != nil {
		return err
	}
	if hint != "" {
		fmt.Fprintf(a.Err, "%s: lines without content have %q: if that is it, import with --map content=%s, and other fields likewise (--map created_at=…)\n", name, hint, hint)
	}
	read.hand(a, add)
	return nil
}

// kind is that of items that name none.
func (c *Files) kind(otherwise schemas.Kind) schemas.Kind {
	return cmp.Or(schemas.Kind(c.Kind), otherwise)
}

// decode makes an item of a line, and reports whether the line has a field of labels.
func (c *Files) decode(a *app.App, fields *mapping, raw []byte, written time.Time) (item schemas.MemoryItem, labels bool, issues []schemas.Issue) {
	mapped, labels, issues := c.mapped(a, fields, raw, written)
	if len(issues) > 0 {
		return item, labels, issues
	}
	item, issues = schemas.DecodeMemoryItem(mapped)
	if t := item.Scope.Tenant; len(issues) == 0 && t != a.Tenant {
		issues = []schemas.Issue{otherTenant(t, a.Tenant)}
	}
	return item, labels, issues
}

func otherTenant(named, into string) schemas.Issue {
	return schemas.Issue{Pointer: "/scope/tenant", Message: fmt.Sprintf("is %q, and this import is into tenant %q: name the other with --tenant", named, into)}
}

// otherName is the field of a line without content that holds the most words, "" for none.
func otherName(raw []byte) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(raw, &in) != nil || in["content"] != nil {
		return ""
	}
	name, most := "", 0
	for _, field := range slices.Sorted(maps.Keys(in)) {
		var text string
		if json.Unmarshal(in[field], &text) == nil && len(strings.Fields(text)) > most {
			name, most = field, len(strings.Fields(text))
		}
	}
	return name
}

// mapped renames fields and fills in what an import may leave out.
func (c *Files) mapped(a *app.App, fields *mapping, raw []byte, written time.Time) (_ []byte, labels bool, _ []schemas.Issue) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(raw, &in); err != nil || in == nil {
		return nil, false, []schemas.Issue{{Message: "is not a JSON object"}}
	}
	if from := c.Map["content"]; from != "" && in[from] == nil {
		return nil, false, []schemas.Issue{{Pointer: "/content", Message: fmt.Sprintf("is required, and there is no field %q, which --map content=%s names", from, from)}}
	}
	out, issues := fields.apply(in)
	_, labels = out[labelField]
	if len(issues) > 0 {
		return nil, labels, issues
	}
	replaceSigns(out)
	filled, issue := c.fill(a, out, raw, written)
	if issue != nil {
		return nil, labels, []schemas.Issue{*issue}
	}
	return filled, labels, nil
}

// fill adds what an import may leave out.
func (c *Files) fill(a *app.App, out map[string]json.RawMessage, raw []byte, written time.Time) ([]byte, *schemas.Issue) {
	defaults := map[string]any{"type": schemas.Episodic, "kind": c.kind(schemas.KindMemory), "security_label": c.labels(),
		"scope": schemas.MemoryScope{Tenant: a.Tenant}, "created_at": written.UTC().Truncate(time.Second)}
	var scope map[string]any
	if json.Unmarshal(out["scope"], &scope) == nil && scope != nil && (scope["tenant"] == nil || scope["tenant"] == "") {
		scope["tenant"], defaults["scope"] = a.Tenant, scope
		delete(out, "scope")
	}
	for field, v := range defaults {
		if _, ok := out[field]; ok {
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, &schemas.Issue{Pointer: "/" + field, Message: err.Error()}
		}
		out[field] = b
	}
	if _, ok := out["id"]; !ok {
		sum := sha256.Sum256(raw)
		out["id"] = json.RawMessage(`"` + hex.EncodeToString(sum[:16]) + `"`)
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, &schemas.Issue{Message: err.Error()}
	}
	return b, nil
}

// headerRoom is what the headers of an item's event take at most, in bytes.
const headerRoom = 2 << 10

// oversized says that item is larger than what the stream takes.
func oversized(item *schemas.MemoryItem) []schemas.Issue {
	raw, err := json.Marshal(item)
	if err != nil {
		return []schemas.Issue{{Message: err.Error()}}
	}
	if limit := jetstream.MaxEventSize - headerRoom; len(raw) > limit {
		return []schemas.Issue{{Message: fmt.Sprintf("has %d bytes, at most %d", len(raw), limit)}}
	}
	return nil
}
