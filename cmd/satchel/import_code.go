package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"satchel/cmd/satchel/internal/source/code"
	"satchel/cmd/satchel/internal/source/gitlog"
	"satchel/cmd/satchel/internal/source/tree"
	"satchel/schemas"
)

type importCodeCmd struct {
	importAs
	Dir   string `arg:"" optional:"" help:"Folder of source files; default the working directory." default:"."`
	Name  string `help:"Name of the repository in ids; default its own, or the folder's."`
	Since string `help:"Commit whose units that are gone now are ended; default that of the last import." placeholder:"SHA"`
}

// Help shows how it is called.
func (importCodeCmd) Help() string {
	return `Each function, method, class or type becomes an item of kind code, code:<repo>:<path>:<name>, with its
signature, doc comment, lines and source. In a git repository what .gitignore names is left out; vendored,
generated, minified and large files always are. Languages: Go, Python, JavaScript, TypeScript, Java, Rust,
C, C++, Ruby, PHP.

Importing again stores what changed. In a git repository units that are gone since the last import end
(valid_to): requests show them no longer, also those about a past moment.

Examples:
  satchel import code
  satchel import code ~/src/kiln/pkg --name kiln`
}

// codeImported is what import code prints.
type codeImported struct {
	Repo      string         `json:"repo"`
	Since     string         `json:"since,omitempty"` // commit of the last import
	Files     int            `json:"files"`
	Units     map[string]int `json:"units"`    // by language
	LeftOut   map[string]int `json:"left_out"` // files, by reason
	Published int            `json:"published"`
	New       int            `json:"new"`   // or changed
	Known     int            `json:"known"` // as they are
	Removed   int            `json:"removed"`
	Malformed int            `json:"malformed"`
	Refused   int            `json:"refused"` // by the worker
	Indexed   bool           `json:"indexed"`
}

// codeImport is an import of code under way.
type codeImport struct {
	cmd    *importCodeCmd
	p      *publisher
	repo   *gitlog.Repo // nil outside of git
	dir    *tree.Folder
	reader code.Reader
	ids    map[string]bool // items of this import
	did    codeImported

	committed map[string]time.Time // when files last changed by a commit
	blobs     map[string]gitlog.Blob
}

// Run publishes the units.
func (c *importCodeCmd) Run(ctx context.Context, a *app) (err error) {
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return usagef("%s: is not a folder", c.Dir)
	}
	im := &codeImport{cmd: c, ids: map[string]bool{}, did: codeImported{Repo: c.Name, Units: map[string]int{}, LeftOut: map[string]int{}}}
	im.repo, err = gitlog.Open(ctx, c.Dir, "")
	if err != nil {
		if !errors.Is(err, gitlog.ErrNotRepo) && !errors.Is(err, gitlog.ErrNoCommits) && !errors.Is(err, gitlog.ErrNoGit) {
			return err
		}
		if im.repo = nil; c.Since != "" {
			return usagef("--since: %v", err)
		}
	}
	if err := im.name(); err != nil {
		return err
	}
	if im.dir, err = tree.Open(c.Dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, im.dir.Close()) }()
	if im.p, err = a.newPublisher(ctx, c.importAs); err != nil {
		return err
	}
	defer im.p.close()
	defer func() { err = errors.Join(err, im.reader.Close(context.WithoutCancel(ctx))) }()
	if err := im.run(ctx, a); err != nil {
		return err
	}
	im.did.Published, im.did.Malformed, im.did.Refused = im.p.Published, im.p.Malformed, im.p.Refused()
	return im.did.print(a)
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

func (im *codeImport) run(ctx context.Context, a *app) error {
	since, err := im.last(ctx)
	if err != nil {
		return err
	}
	files, err := im.files(ctx)
	if err != nil {
		return err
	}
	bar := a.bar("importing code")
	defer bar.end()
	for i, name := range files {
		if err := im.file(ctx, name); err != nil {
			return err
		}
		bar.set(int64(i+1), int64(len(files)))
	}
	if err := im.p.flush(ctx); err != nil {
		return err
	}
	im.did.New, im.did.Known = im.p.New(), im.p.Known
	if since != "" {
		im.did.Since = since
		if err := im.endRemoved(ctx, since); err != nil {
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
		if code.Known(name) == "" {
			known = append(known, name)
		}
	}
	if im.committed, err = im.repo.Changed(ctx, known); err != nil {
		return nil, err
	}
	im.blobs, err = im.repo.Blobs(ctx)
	return all, err
}

// changed is when the file that holds text last changed: by the commit, or by the file
// system for what no commit has as it is.
func (im *codeImport) changed(name string, text []byte, onDisk time.Time) time.Time {
	if at, ok := im.committed[name]; ok && im.blobs[name].Is(text) {
		return at
	}
	return onDisk.Truncate(time.Second)
}

func (im *codeImport) file(ctx context.Context, name string) error {
	if reason := code.Known(name); reason != "" {
		im.did.LeftOut[string(reason)]++
		return nil
	}
	source, info, reason := code.Load(im.dir, name)
	var units []code.Unit
	var err error
	if reason == "" {
		if units, reason, err = im.reader.Units(ctx, name, source); err != nil {
			return err
		}
	}
	if reason != "" {
		im.did.LeftOut[string(reason)]++
		return nil
	}
	im.did.Files++
	changed := im.changed(name, source, info.ModTime())
	for i := range units {
		im.did.Units[units[i].Language]++
		if err := im.add(ctx, &units[i], changed, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

func (im *codeImport) add(ctx context.Context, u *code.Unit, changed, ended time.Time) error {
	item, err := u.Item(im.did.Repo, im.p.a.Tenant, im.cmd.Label, changed)
	if err != nil {
		return err
	}
	if len(item.Links) == 0 {
		item.Links = []schemas.Link{{Rel: schemas.RelPartOf, To: code.ItemID(im.did.Repo, "")}}
	}
	item.ValidTo = ended
	im.ids[item.ID] = true
	return im.p.add(ctx, fmt.Sprintf("%s:%d", u.Path, u.StartLine), item)
}

// endRemoved ends the units that were there at the commit of the last import and are
// gone now.
func (im *codeImport) endRemoved(ctx context.Context, since string) error {
	differ, err := im.repo.Differ(ctx, since)
	if err != nil {
		return err
	}
	head, err := im.repo.Commit(ctx, im.repo.Head())
	if err != nil {
		return err
	}
	for _, name := range differ {
		if code.Known(name) != "" {
			continue
		}
		source, err := im.repo.Text(ctx, since, name, code.MaxFile+1)
		if err != nil {
			return err
		}
		units, _, err := im.reader.Units(ctx, name, source)
		if err != nil {
			return err
		}
		for i := range units {
			if im.ids[units[i].ItemID(im.did.Repo)] {
				continue
			}
			im.did.Removed++
			if err := im.add(ctx, &units[i], head.Committed, head.Committed); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *codeImported) print(a *app) error {
	if a.JSON {
		return errors.Join(a.printJSON(d), leftOut(d.Malformed, d.Refused))
	}
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
	fmt.Fprintf(a.out, "%s: %s of %s%s: %d new or changed, %d known already",
		d.Repo, plural(units, "unit", "units"), plural(d.Files, "file", "files"), by, d.New, d.Known)
	if d.Refused > 0 {
		fmt.Fprintf(a.out, ", %d refused", d.Refused)
	}
	if d.Removed > 0 {
		fmt.Fprintf(a.out, "; %d gone and ended", d.Removed)
	}
	fmt.Fprintln(a.out)
	if err := a.printLeftOut(d.LeftOut); err != nil {
		return err
	}
	return printUnfinished(a, d.Indexed, d.Malformed, d.Refused)
}
