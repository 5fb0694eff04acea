package importer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/importer/source/code"
	"satchel/cmd/internal/importer/source/document"
	"satchel/cmd/internal/importer/source/gitlog"
	"satchel/cmd/internal/importer/source/tree"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// Code is satchel import code.
type Code struct {
	Flags
	Dir   string `arg:"" optional:"" help:"Folder of source files; default the working directory." default:"."`
	Name  string `help:"Name of the repository in ids; default its own, or the folder's."`
	All   bool   `help:"Read all files, also those that the last import has read as they are."`
	Since string `help:"Commit whose units that are gone now are ended; default that of the last import." placeholder:"SHA"`
}

// Help shows how it is called.
func (Code) Help() string {
	return `Each function, method, class or type, and constants that stand together, become an item of kind code,
code:<repo>:<path>:<name>, with signature, doc comment, lines and source. In a git repository what .gitignore names is left out; vendored,
generated, minified and large files always are. Languages: Go, Python, JavaScript, TypeScript, Java, Rust,
C, C++, Ruby, PHP.

Importing again stores what changed. In a git repository files that have not changed since the last import are
not read again, but with --all, and units that are gone since end (valid_to): requests show them no longer, also
those about a past moment.

Examples:
  satchel import code
  satchel import code ~/src/kiln/pkg --name kiln`
}

// CodeResult is what import code prints.
type CodeResult struct {
	Repo      string         `json:"repo"`
	Since     string         `json:"since,omitempty"` // commit of the last import
	Files     int            `json:"files"`
	Units     map[string]int `json:"units"`    // by language
	LeftOut   map[string]int `json:"left_out"` // files, by reason
	Published int            `json:"published"`
	New       int            `json:"new"`   // or changed
	Known     int            `json:"known"` // as they are
	Removed   int            `json:"removed"`
	Unchanged int            `json:"unchanged"` // files that the last import has read, which are not read again
	Malformed int            `json:"malformed"`
	Refused   int            `json:"refused"` // by the worker
	Indexed   bool           `json:"indexed"`
}

// codeImport is an import of code under way.
type codeImport struct {
	cmd    *Code
	docs   bool // documentation, too
	p      *publisher
	repo   *gitlog.Repo // nil outside of git
	dir    *tree.Folder
	reader code.Reader
	ids    map[string]bool // items of this import
	did    CodeResult
	dates  gitlog.Dates

	unchanged map[string]bool // files that the last import has read as they are in the newest commit
	clean     bool            // every file that was read is as the newest commit has it
}

// Run publishes the units.
func (c *Code) Run(ctx context.Context, a *app.App) error {
	did, err := c.do(ctx, a, false)
	if err != nil {
		return err
	}
	if a.JSON {
		return errors.Join(command.PrintJSON(a, did), leftOut(did.Malformed, did.Refused))
	}
	if err := did.print(a); err != nil {
		return err
	}
	return printUnfinished(a, did.Indexed, did.Malformed, did.Refused)
}

// do publishes the units of code, and with docs the sections of documentation, and says how
// many there were.
func (c *Code) do(ctx context.Context, a *app.App, docs bool) (_ *CodeResult, err error) {
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return nil, config.Usagef("%s: is not a folder", c.Dir)
	}
	im := &codeImport{cmd: c, docs: docs, clean: true, ids: map[string]bool{}, did: CodeResult{Repo: c.Name, Units: map[string]int{}, LeftOut: map[string]int{}}}
	var none error
	if im.repo, none, err = gitlog.Find(ctx, c.Dir); err != nil {
		return nil, err
	}
	if im.repo == nil && c.Since != "" {
		return nil, config.Usagef("--since: %v", none)
	}
	if err := im.name(); err != nil {
		return nil, err
	}
	if im.dir, err = tree.Open(c.Dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, im.dir.Close()) }()
	if im.p, err = newPublisher(ctx, a, c.Flags); err != nil {
		return nil, err
	}
	defer im.p.close()
	defer func() { err = errors.Join(err, im.reader.Close(context.WithoutCancel(ctx))) }()
	if err := im.run(ctx, a); err != nil {
		return nil, err
	}
	im.did.Published, im.did.Malformed, im.did.Refused = im.p.Published, im.p.Malformed, im.p.Refused()
	return &im.did, nil
}

func (im *codeImport) name() error {
	if im.did.Repo == "" && im.repo != nil {
		im.did.Repo = im.repo.Name()
	}
	if im.did.Repo == "" {
		dir, err := filepath.Abs(im.cmd.Dir)
		if err != nil {
			return err
		}
		im.did.Repo = filepath.Base(dir)
	}
	return nil
}

func (im *codeImport) run(ctx context.Context, a *app.App) error {
	since, before, err := im.last(ctx)
	if err != nil {
		return err
	}
	files, err := im.files(ctx)
	if err != nil {
		return err
	}
	if err := im.findUnchanged(ctx, since, before, files); err != nil {
		return err
	}
	bar := a.Progress("importing files")
	defer bar.End()
	for i, name := range files {
		if err := im.file(ctx, name); err != nil {
			return err
		}
		bar.Set(int64(i+1), int64(len(files)))
	}
	if err := im.p.flush(ctx); err != nil {
		return err
	}
	im.did.New, im.did.Known = im.p.New(), im.p.Known
	if since != "" {
		im.did.Since = since
		if err := im.endRemoved(ctx, since, before.docs && im.docs); err != nil {
			return err
		}
	}
	if im.did.Indexed, err = im.p.finish(ctx); err != nil || im.repo == nil {
		return err
	}
	return im.markImport(ctx)
}

// files lists what to read, and finds what of it is committed, and since when.
func (im *codeImport) files(ctx context.Context) ([]string, error) {
	if im.repo == nil {
		return code.Walk(ctx, im.cmd.Dir)
	}
	all, err := im.repo.Files(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(all)
	var known []string
	for _, name := range all {
		if leaves(name, im.docs) == "" {
			known = append(known, name)
		}
	}
	im.dates, err = im.repo.Dates(ctx, known)
	return all, err
}

// leaves says why a file of this name is not read, "" when it is.
func leaves(name string, docs bool) code.Reason {
	switch {
	case !docs || !document.Known(name):
		return code.Known(name)
	case code.IsVendored(path.Dir(name)):
		return code.Vendored
	}
	return ""
}

func (im *codeImport) file(ctx context.Context, name string) error {
	reason := leaves(name, im.docs)
	if reason != "" {
		im.did.LeftOut[string(reason)]++
		return nil
	}
	text, info, reason := code.Load(im.dir, name, mostOf(name))
	var items []schemas.MemoryItem
	if reason == "" {
		changed, committed := im.dates.Of(name, text, info.ModTime())
		if im.clean = im.clean && committed; committed && im.unchanged[name] {
			im.did.Unchanged++
			return nil
		}
		var err error
		if items, reason, err = im.items(ctx, name, text, changed, committed); err != nil {
			return err
		}
	}
	if reason != "" {
		im.did.LeftOut[string(reason)]++
		return nil
	}
	im.did.Files++
	for i := range items {
		im.ids[items[i].ID] = true
		if err := im.p.add(ctx, items[i].Provenance.SourceURI, items[i]); err != nil {
			return err
		}
	}
	return nil
}

// mostOf is how large a file may be, in bytes.
func mostOf(name string) int64 {
	if document.Known(name) {
		return mostMarkdown
	}
	return code.MaxFile
}

// items makes items of a file that holds text and changed last at a time, and counts them
// by language.
func (im *codeImport) items(ctx context.Context, name string, text []byte, changed time.Time, committed bool) ([]schemas.MemoryItem, code.Reason, error) {
	if document.Known(name) {
		return im.sections(name, text, changed, committed)
	}
	units, reason, err := im.reader.Units(ctx, name, text)
	if err != nil || reason != "" {
		return nil, reason, err
	}
	items := make([]schemas.MemoryItem, len(units))
	for i := range units {
		item, err := units[i].Item(im.did.Repo, im.p.a.Tenant, im.cmd.labels(), changed)
		if err != nil {
			return nil, "", err
		}
		if len(item.Links) == 0 {
			item.Links = []schemas.Link{{Rel: schemas.RelPartOf, To: code.ItemID(im.did.Repo, "")}}
		}
		items[i] = item
		im.did.Units[units[i].Language]++
	}
	return items, "", nil
}

func (im *codeImport) sections(name string, text []byte, changed time.Time, committed bool) ([]schemas.MemoryItem, code.Reason, error) {
	if document.Binary(text) {
		return nil, code.Binary, nil
	}
	if source.LFSPointer(text) {
		return nil, code.LFS, nil
	}
	file := document.File{ID: document.FileID(im.did.Repo, name), Name: im.did.Repo, Path: name, Changed: changed, Committed: committed}
	sections := document.Sections(name, string(text))
	items := make([]schemas.MemoryItem, len(sections))
	for i := range sections {
		var err error
		if items[i], err = file.Item(&sections[i], schemas.KindKnowledge, im.p.a.Tenant, im.cmd.labels()); err != nil {
			return nil, "", err
		}
		im.did.Units[document.Language(name)]++
	}
	return items, "", nil
}

// endRemoved ends the items of the commit of the last import, with documentation if docs,
// that are gone now.
func (im *codeImport) endRemoved(ctx context.Context, since string, docs bool) error {
	differ, err := im.repo.Differ(ctx, since)
	if err != nil {
		return err
	}
	head, err := im.repo.Commit(ctx, im.repo.Head())
	if err != nil {
		return err
	}
	counted := maps.Clone(im.did.Units)
	defer func() { im.did.Units = counted }()
	for _, name := range differ {
		if leaves(name, docs) != "" {
			continue
		}
		text, err := im.repo.Text(ctx, since, name, mostOf(name)+1)
		if err != nil {
			return err
		}
		items, _, err := im.items(ctx, name, text, head.Committed, true)
		if err != nil {
			return err
		}
		for i := range items {
			if im.ids[items[i].ID] {
				continue
			}
			im.did.Removed++
			items[i].ValidTo = head.Committed
			if err := im.p.add(ctx, items[i].Provenance.SourceURI, items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *CodeResult) print(a *app.App) error {
	units := 0
	var languages []string
	for _, l := range slices.Sorted(maps.Keys(d.Units)) {
		units += d.Units[l]
		languages = append(languages, fmt.Sprintf("%s %d", l, d.Units[l]))
	}
	by := ""
	if len(languages) > 0 {
		by = " (" + strings.Join(languages, ", ") + ")"
	}
	fmt.Fprintf(a.Out, "%s: %s of %s%s: %d new or changed, %d known already",
		d.Repo, terminal.Plural(units, "unit", "units"), terminal.Plural(d.Files, "file", "files"), by, d.New, d.Known)
	if d.Refused > 0 {
		fmt.Fprintf(a.Out, ", %d refused", d.Refused)
	}
	if d.Removed > 0 {
		fmt.Fprintf(a.Out, "; %d gone and ended", d.Removed)
	}
	if d.Unchanged > 0 {
		fmt.Fprintf(a.Out, "; %s unchanged since %.10s", terminal.Plural(d.Unchanged, "file", "files"), d.Since)
	}
	fmt.Fprintln(a.Out)
	return printLeftOut(a, d.LeftOut)
}
