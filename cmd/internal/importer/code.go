package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/importer/source/code"
	"satchel/cmd/internal/importer/source/gitlog"
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
	dir    *source.Folder
	reader code.Reader
	ids    map[string]bool // items of this import
	did    CodeResult
	dates  gitlog.Dates

	unchanged map[string]bool // files that the last import has read as they are in the newest commit
	clean     bool            // every file that was read is as the newest commit has it
}

// Run publishes the units.
func (c *Code) Run(ctx context.Context, a *app.App) error {
	did, err := c.run(ctx, a, false)
	if err != nil {
		return err
	}
	return ending{did.Indexed, did.Malformed, did.Refused}.report(a, did, did.words())
}

// run publishes the units of code, and with docs the sections of documentation, and says how many there were.
func (c *Code) run(ctx context.Context, a *app.App, docs bool) (_ *CodeResult, err error) {
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return nil, config.Usagef("%s: is not a folder", c.Dir)
	}
	im := &codeImport{cmd: c, docs: docs, clean: true, ids: map[string]bool{}, did: CodeResult{Repo: c.Name, Units: map[string]int{}, LeftOut: map[string]int{}}}
	repo, err := gitlog.Open(ctx, c.Dir, "")
	switch {
	case err == nil:
		im.repo = repo
		im.did.Repo = cmp.Or(c.Name, repo.Name)
	case !gitlog.IsNone(err):
		return nil, err
	case c.Since != "":
		return nil, config.Usagef("--since: %v", err)
	}
	if im.did.Repo == "" {
		dir, err := filepath.Abs(c.Dir)
		if err != nil {
			return nil, err
		}
		im.did.Repo = filepath.Base(dir)
	}
	im.dir, err = source.OpenFolder(c.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, im.dir.Close()) }()
	im.p, err = newPublisher(ctx, a, c.Flags)
	if err != nil {
		return nil, err
	}
	defer im.p.close()
	defer func() { err = errors.Join(err, im.reader.Close(context.WithoutCancel(ctx))) }()
	if err := im.publish(ctx); err != nil {
		return nil, err
	}
	im.did.Published = im.p.Published
	im.did.Malformed = im.p.Malformed
	im.did.Refused = im.p.Refused
	return &im.did, nil
}

// publish publishes what has changed, and ends what is gone.
func (im *codeImport) publish(ctx context.Context) error {
	since, before, err := im.lastImport(ctx)
	if err != nil {
		return err
	}
	files, err := listFiles(ctx, im.repo, im.cmd.Dir)
	if err != nil {
		return err
	}
	im.dates, err = readDates(ctx, im.repo, files, func(name string) bool { return checkName(name, im.docs) == "" })
	if err != nil {
		return err
	}
	if err := im.findUnchanged(ctx, since, before, files); err != nil {
		return err
	}
	bar := im.p.a.Progress("importing files")
	defer bar.End()
	for i, name := range files {
		if err := im.publishFile(ctx, name); err != nil {
			return err
		}
		bar.Set(int64(i+1), int64(len(files)))
	}
	if err := im.p.flush(ctx); err != nil {
		return err
	}
	im.did.New = im.p.New()
	im.did.Known = im.p.Known
	im.did.Since = since
	if since != "" {
		if err := im.endRemoved(ctx, before.docs && im.docs); err != nil {
			return err
		}
	}
	im.did.Indexed, err = im.p.finish(ctx)
	if err != nil || im.repo == nil {
		return err
	}
	return im.markImport(ctx)
}

// checkName says why a file of this name is not read, "" when it is.
func checkName(name string, docs bool) source.Reason {
	switch {
	case !docs || !source.IsDocument(name):
		return code.CheckName(name)
	case source.IsVendored(path.Dir(name)):
		return source.Vendored
	}
	return ""
}

// publishFile publishes what a file holds, or counts why it is not read.
func (im *codeImport) publishFile(ctx context.Context, name string) error {
	items, reason, err := im.readFile(ctx, name)
	if err != nil {
		return err
	}
	switch reason {
	case "":
	case unchanged:
		im.did.Unchanged++
		return nil
	default:
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

// unchanged is the reason of a file that the last import has read as it is.
const unchanged source.Reason = "unchanged"

// readFile makes items of a file, or says why it is not read.
func (im *codeImport) readFile(ctx context.Context, name string) ([]schemas.MemoryItem, source.Reason, error) {
	if reason := checkName(name, im.docs); reason != "" {
		return nil, reason, nil
	}
	text, info, err := im.dir.Read(name, mostOf(name))
	switch {
	case errors.Is(err, source.TooLarge):
		return nil, source.TooLarge, nil
	case err != nil: // also a link, a submodule, and what is tracked and deleted in the work tree
		return nil, source.Unreadable, nil
	}
	changed, committed := im.dates.Of(name, text, info.ModTime())
	im.clean = im.clean && committed
	if im.unchanged[name] && committed {
		return nil, unchanged, nil
	}
	return im.items(ctx, name, text, changed, committed)
}

// mostOf is how large a file may be, in bytes.
func mostOf(name string) int64 {
	if source.IsDocument(name) {
		return mostDocument
	}
	return code.MaxFile
}

// items makes items of a file that holds text and changed last at a time, and counts them by language.
func (im *codeImport) items(ctx context.Context, name string, text []byte, changed time.Time, committed bool) ([]schemas.MemoryItem, source.Reason, error) {
	tenant := im.p.a.Tenant
	if source.IsDocument(name) {
		if reason := source.CheckText(text); reason != "" {
			return nil, reason, nil
		}
		d := source.Document{ID: source.FileID(im.did.Repo, name), Name: im.did.Repo, Path: name, Changed: changed, Committed: committed}
		items := d.Items(text, schemas.KindKnowledge, tenant, im.cmd.labels())
		if len(items) > 0 {
			im.did.Units[source.Language(name)] += len(items)
		}
		return items, "", nil
	}
	units, reason, err := im.reader.Units(ctx, name, text)
	if err != nil || reason != "" {
		return nil, reason, err
	}
	items := make([]schemas.MemoryItem, len(units))
	for i := range units {
		items[i] = units[i].Item(im.did.Repo, tenant, im.cmd.labels(), changed)
		if len(items[i].Links) == 0 {
			items[i].Links = []schemas.Link{{Rel: schemas.RelPartOf, To: code.ItemID(im.did.Repo, "")}}
		}
		im.did.Units[units[i].Language]++
	}
	return items, "", nil
}

// endRemoved ends the items of the commit of the last import, with documentation if docs, that are gone now.
func (im *codeImport) endRemoved(ctx context.Context, docs bool) error {
	differ, err := im.repo.Differ(ctx, im.did.Since)
	if err != nil {
		return err
	}
	head, err := im.repo.Commit(ctx, im.repo.Head)
	if err != nil {
		return err
	}
	counted := maps.Clone(im.did.Units)
	defer func() { im.did.Units = counted }()
	for _, name := range differ {
		if checkName(name, docs) != "" {
			continue
		}
		text, err := im.repo.Text(ctx, im.did.Since, name, mostOf(name)+1)
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

// words says what the import did.
func (d *CodeResult) words() string {
	units, by := sumUp(d.Units, "%s %d")
	if by != "" {
		by = " (" + by + ")"
	}
	same := ""
	if d.Unchanged > 0 {
		same = fmt.Sprintf("; %s unchanged since %.10s", terminal.Plural(d.Unchanged, "file", "files"), d.Since)
	}
	return fmt.Sprintf("%s: %s of %s%s: %d new or changed, %d known already%s%s%s\n%s", d.Repo, terminal.Plural(units, "unit", "units"), terminal.Plural(d.Files, "file", "files"), by,
		d.New, d.Known, ifAny(d.Refused, ", %d refused"), ifAny(d.Removed, "; %d gone and ended"), same, filesLeftOut(d.LeftOut))
}
