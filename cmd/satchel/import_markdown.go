package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"satchel/cmd/satchel/internal/source/code"
	"satchel/cmd/satchel/internal/source/tree"
	"satchel/jetstream"
	"satchel/schemas"
)

// What the items of Markdown have in common.
const (
	markdownID       = "md:"      // their ids begin with it
	markdownCategory = "markdown" // their category
)

func isMarkdown(name string) bool { return strings.EqualFold(filepath.Ext(name), ".md") }

// markdownFile is a Markdown file and what its item's id is made from: where the file
// is, or the name that the user gave its folder and the path below the folder.
type markdownFile struct {
	source string // of the folder: absolute path, or --name
	name   string // of the folder, as it is shown
	rel    string // of the file below the folder, with slashes
}

// markdownIn resolves the folder that dir is, or is in when it is a file.
func (c *importFilesCmd) markdownIn(dir string, isDir bool) (string, markdownFile, error) {
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
		return root, markdownFile{source: c.Name, name: c.Name}, nil
	}
	return root, markdownFile{name: filepath.Base(root)}, nil
}

// id is that of the file's item: files of two folders never share one, unless the user
// gave both folders one name.
func (f *markdownFile) id(root string) string {
	key := f.source + "\x00" + f.rel
	if f.source == "" {
		key = filepath.ToSlash(filepath.Join(root, filepath.FromSlash(f.rel))) // the same for each folder above it
	}
	sum := sha256.Sum256([]byte(key))
	return markdownID + hex.EncodeToString(sum[:12])
}

// mostMarkdown is how large a Markdown file may be, in bytes: that of many items, which
// are its sections.
const mostMarkdown = 16 * jetstream.MaxEventSize

// markdownFrom reads the Markdown of one folder.
type markdownFrom struct {
	cmd  *importFilesCmd
	a    *app
	root string
	dir  *tree.Folder
	file markdownFile // but for rel
	md   *markdownRead
	add  func(string, schemas.MemoryItem, []schemas.Issue)
}

// readFolder makes items of the sections of each Markdown file below dir and of the lines of each of JSONL, or of dir itself when it is
// one, and notes in md what it read and left out. A link that the user names is followed, others are not.
func (c *importFilesCmd) readFolder(ctx context.Context, a *app, dir string, isDir bool, md *markdownRead, add func(string, schemas.MemoryItem, []schemas.Issue)) (err error) {
	root, file, err := c.markdownIn(dir, isDir)
	if err != nil {
		return err
	}
	from := markdownFrom{cmd: c, a: a, root: root, file: file, md: md, add: add}
	where, name := root, ""
	if !isDir {
		target, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return usagef("%v", err)
		}
		where, name = filepath.Dir(target), filepath.Base(target)
	}
	if from.dir, err = tree.Open(where); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.dir.Close()) }()
	if !isDir {
		if err := from.read(name, filepath.Base(dir)); err != nil {
			return usagef("read %s: %w", dir, err)
		}
		return nil
	}
	md.folders = append(md.folders, markdownFolder{root, file})
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir // git's own
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return fmt.Errorf("read %s: %w", p, err)
		}
		rel = filepath.ToSlash(rel)
		switch {
		case isMarkdown(p):
			err = from.read(rel, rel)
		case strings.EqualFold(filepath.Ext(p), ".jsonl"):
			err = from.lines(p, rel)
		default:
			err = errNeither
		}
		if err == nil || errors.Is(err, errOneItem) {
			return err
		}
		from.leaveOut(p, rel, err)
		return nil
	})
}

// errNeither says why another file of a folder is not read.
var errNeither = errors.New("is neither .md nor .jsonl")

// lines reads a file of JSONL of the folder.
func (f *markdownFrom) lines(p, rel string) error {
	file, info, err := f.dir.File(rel)
	if err != nil {
		return err
	}
	defer file.Close()
	return f.cmd.readLines(f.a, p, file, info.ModTime(), f.add)
}

// leftOutNamed is how many files of another kind are named.
const leftOutNamed = 10

// leaveOut notes that a file is not read, and why.
func (f *markdownFrom) leaveOut(p, rel string, err error) {
	reason := string(code.Unreadable)
	for _, known := range []error{tree.ErrLink, tree.ErrSpecial, tree.ErrTooLarge, errNeither} {
		if errors.Is(err, known) {
			reason = strings.TrimPrefix(strings.TrimPrefix(known.Error(), "is "), "a ")
		}
	}
	switch named := f.md.reasons[reason]; {
	case named < leftOutNamed || !errors.Is(err, errNeither):
		fmt.Fprintf(f.a.err, "%s: left out: %v\n", p, err)
	case named == leftOutNamed:
		fmt.Fprintf(f.a.err, "%s and others: left out: %v\n", p, err)
	}
	file := f.file
	file.rel = rel
	f.md.left[file.id(f.root)] = true
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
		return usagef("%s and %s %w, as both are %s of %q: import them apart, each under a --name of its own", other, p, errOneItem, file.rel, file.name)
	} else if ok {
		return nil // named twice
	}
	f.md.files[id] = p
	item := schemas.MemoryItem{ID: id, Type: schemas.Semantic, Kind: schemas.Kind(f.cmd.Kind),
		Scope: schemas.MemoryScope{Tenant: f.a.Tenant}, CreatedAt: info.ModTime().UTC().Truncate(time.Second), SecurityLabel: f.cmd.Label,
		Category: markdownCategory, Provenance: schemas.Provenance{SourceURI: "file:" + file.name + "/" + file.rel}}
	markdown(p, string(text), item, func(where string, item schemas.MemoryItem, issues []schemas.Issue) {
		f.md.ids[item.ID] = len(bytes.TrimSpace(text)) > 0
		f.add(where, item, issues)
	})
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
