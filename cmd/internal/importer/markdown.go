package importer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/importer/source/code"
	"satchel/cmd/internal/importer/source/document"
	"satchel/cmd/internal/importer/source/gitlog"
	"satchel/cmd/internal/importer/source/tree"
	"satchel/jetstream"
	"satchel/schemas"
)

// markdownFile is a Markdown file and what its item's id is made from: where the file
// is, or the name that the user gave its folder and the path below the folder.
type markdownFile struct {
	name  string // of the folder, as it is shown
	named bool   // by --name
	rel   string // of the file below the folder, with slashes
}

// markdownIn resolves the folder that dir is, or is in when it is a file.
func (c *Files) markdownIn(dir string, isDir bool) (string, markdownFile, error) {
	if !isDir {
		dir = filepath.Dir(dir)
	}
	root, err := filepath.Abs(dir)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", markdownFile{}, fmt.Errorf("resolve folder %q: %w", dir, err)
	}
	if c.Name != "" {
		return root, markdownFile{name: c.Name, named: true}, nil
	}
	return root, markdownFile{name: filepath.Base(root)}, nil
}

// id is that of the file's item: files of two folders never share one, unless the user
// gave both folders one name.
func (f *markdownFile) id(root string) string {
	if f.named {
		return document.FileID(f.name, f.rel)
	}
	sum := sha256.Sum256([]byte(filepath.ToSlash(filepath.Join(root, filepath.FromSlash(f.rel))))) // the same for each folder above it
	return document.IDPrefix + hex.EncodeToString(sum[:12])
}

// mostMarkdown is how large a Markdown file may be, in bytes: that of many items, which
// are its sections.
const mostMarkdown = 16 * jetstream.MaxEventSize

// markdownFrom reads the Markdown of one folder.
type markdownFrom struct {
	cmd  *Files
	a    *app.App
	root string
	dir  *tree.Folder
	file markdownFile // but for rel
	git  gitlog.Dates
	md   *markdownRead
	add  func(string, schemas.MemoryItem, []schemas.Issue)
}

// readFolder makes items of the sections of each Markdown file below dir and of the lines of each of JSONL, or of dir itself when it is
// one, and notes in md what it read and left out. A link that the user names is followed, others are not.
func (c *Files) readFolder(ctx context.Context, a *app.App, dir string, isDir bool, md *markdownRead, add func(string, schemas.MemoryItem, []schemas.Issue)) (err error) {
	root, file, err := c.markdownIn(dir, isDir)
	if err != nil {
		return err
	}
	from := markdownFrom{cmd: c, a: a, root: root, file: file, md: md, add: add}
	where, name := root, ""
	if !isDir {
		target, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return config.Usagef("%v", err)
		}
		where, name = filepath.Dir(target), filepath.Base(target)
	}
	if from.dir, err = tree.Open(where); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.dir.Close()) }()
	names := []string{name}
	if isDir {
		md.folders = append(md.folders, markdownFolder{root, file})
	}
	if names, err = from.list(ctx, where, names, isDir); err != nil {
		return err
	}
	if !isDir {
		if err := from.read(name, filepath.Base(dir)); err != nil {
			return config.Usagef("read %s: %w", dir, err)
		}
		return nil
	}
	for _, rel := range names {
		switch {
		case code.IsVendored(path.Dir(rel)):
			err = errVendored
		case document.Known(rel):
			err = from.read(rel, rel)
		case strings.EqualFold(path.Ext(rel), ".jsonl"):
			err = from.lines(filepath.Join(root, filepath.FromSlash(rel)), rel)
		default:
			err = errNeither
		}
		if errors.Is(err, errOneItem) {
			return err
		}
		if err != nil {
			from.leaveOut(rel, err)
		}
	}
	return ctx.Err()
}

// list returns the files below a folder, or the one that is named, and reads when they
// changed. In a git repository what it ignores is left out, unless that is all.
func (f *markdownFrom) list(ctx context.Context, folder string, names []string, whole bool) ([]string, error) {
	repo, _, err := gitlog.Find(ctx, folder)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	inGit := err == nil && repo != nil // a repository that git refuses to read is a folder like others
	if whole && inGit {
		if names, err = repo.Files(ctx); err != nil {
			return nil, err
		}
	}
	if whole && (!inGit || len(names) == 0) {
		if names, err = code.Walk(ctx, folder); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	if inGit {
		f.git, err = repo.Dates(ctx, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !document.Known(name) }))
	}
	return names, err
}

// Why another file of a folder is not read.
var (
	errVendored = errors.New("is vendored")
	errBinary   = errors.New("is binary")
	errLFS      = errors.New("is in Git LFS and not fetched")
	errEmpty    = errors.New("is empty")
	errNeither  = errors.New("is neither documentation nor .jsonl")
)

// lines reads a file of JSONL of the folder.
func (f *markdownFrom) lines(p, rel string) error {
	file, info, err := f.dir.File(rel)
	if err != nil {
		return err
	}
	defer file.Close()
	return f.cmd.readLines(f.a, p, file, info.ModTime(), f.add)
}

// leaveOut counts a file that is not read, and names it where it might be expected to be.
func (f *markdownFrom) leaveOut(rel string, err error) {
	reason := string(code.Unreadable)
	for _, known := range []error{tree.ErrLink, tree.ErrSpecial, tree.ErrTooLarge, errBinary, errLFS, errVendored, errNeither, errEmpty} {
		if errors.Is(err, known) {
			reason = strings.TrimPrefix(strings.TrimPrefix(known.Error(), "is "), "a ")
		}
	}
	if !errors.Is(err, errNeither) && !errors.Is(err, errVendored) {
		fmt.Fprintf(f.a.Err, "%s: left out: %v\n", filepath.Join(f.root, filepath.FromSlash(rel)), err)
	}
	file := f.file
	file.rel = rel
	f.md.left[file.id(f.root)] = !errors.Is(err, errEmpty)
	f.md.reasons[reason]++
}

// errOneItem refuses two files that would be one item.
var errOneItem = errors.New("would be one item")

// read makes items of the file called name, which is known as rel.
func (f *markdownFrom) read(name, rel string) error {
	text, info, err := f.dir.Read(name, mostMarkdown)
	if err != nil {
		return err
	}
	if document.Binary(text) {
		return errBinary
	}
	if source.LFSPointer(text) {
		return errLFS
	}
	p := filepath.Join(f.root, filepath.FromSlash(rel))
	file := f.file
	file.rel = rel
	id := file.id(f.root)
	if n := invalidLine(text); n > 0 {
		f.md.left[id] = true // what is held of it stays
		f.add(fmt.Sprintf("%s:%d", p, n), schemas.MemoryItem{}, []schemas.Issue{{Message: "is not valid UTF-8, so the file is not read: save it as UTF-8"}})
		return nil
	}
	if other, ok := f.md.files[id]; ok && other != p {
		return config.Usagef("%s and %s %w, as both are %s of %q: import them apart, each under a --name of its own", other, p, errOneItem, file.rel, file.name)
	} else if ok {
		return nil // named twice
	}
	f.md.files[id] = p
	changed, committed := f.git.Of(name, text, info.ModTime())
	sections := document.Sections(rel, string(text))
	if len(sections) == 0 {
		return errEmpty
	}
	read := document.File{ID: id, Name: file.name, Path: file.rel, Changed: changed, Committed: committed}
	for i := range sections {
		item, err := read.Item(&sections[i], f.cmd.kind(schemas.KindKnowledge), f.a.Tenant, f.cmd.labels())
		if err != nil {
			return err
		}
		f.md.ids[item.ID] = true
		f.add(fmt.Sprintf("%s:%d", p, sections[i].Line), item, item.Validate())
	}
	return nil
}

// invalidLine is the first line of a text that is not UTF-8, 0 when all of it is.
func invalidLine(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		if n++; !utf8.Valid(line) {
			return n
		}
	}
	return 0
}
