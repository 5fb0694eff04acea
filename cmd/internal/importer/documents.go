package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/importer/source/gitlog"
	"satchel/jetstream"
	"satchel/pipeline/scope"
	"satchel/schemas"
)

// mostDocument is how large a document may be, in bytes: that of many items, which are its sections.
const mostDocument = 16 * jetstream.MaxEventSize

// documentFolder is a folder of documents and what the ids of their items are made from: where the file is, or the name
// that the user gave the folder and the path below it.
type documentFolder struct {
	root  string
	name  string // as it is shown
	named bool   // by --name
}

// documentFolder resolves the folder that dir is, or is in when it is a file.
func (c *Files) documentFolder(dir string, isDir bool) (documentFolder, error) {
	if !isDir {
		dir = filepath.Dir(dir)
	}
	root, err := filepath.Abs(dir)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return documentFolder{}, fmt.Errorf("resolve folder %q: %w", dir, err)
	}
	if c.Name != "" {
		return documentFolder{root: root, name: c.Name, named: true}, nil
	}
	return documentFolder{root: root, name: filepath.Base(root)}, nil
}

// path is where a file of the folder is.
func (f *documentFolder) path(rel string) string {
	return filepath.Join(f.root, filepath.FromSlash(rel))
}

// id is that of a file's item: files of two folders never share one, unless the user gave both folders one name.
func (f *documentFolder) id(rel string) string {
	if f.named {
		return source.FileID(f.name, rel)
	}
	return source.DocumentPrefix + source.Hash([]byte(filepath.ToSlash(f.path(rel))), 12) // the same for each folder above it
}

// folderReader reads the documents and the JSONL of one folder.
type folderReader struct {
	documentFolder
	cmd   *Files
	a     *app.App
	files *source.Folder
	dates gitlog.Dates
	md    *documentsRead
	add   adder
}

// readFolder makes items of the sections of each document below dir and of the lines of each file of JSONL, or of dir
// itself when it is a document, and notes in md what it read and left out. A link that the user names is followed,
// others are not.
func (c *Files) readFolder(ctx context.Context, a *app.App, dir string, isDir bool, md *documentsRead, add adder) (err error) {
	folder, err := c.documentFolder(dir, isDir)
	if err != nil {
		return err
	}
	target := folder.root
	name := ""
	if !isDir {
		file, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return config.Usagef("%v", err)
		}
		target = filepath.Dir(file)
		name = filepath.Base(file)
	}
	f := folderReader{documentFolder: folder, cmd: c, a: a, md: md, add: add}
	f.files, err = source.OpenFolder(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.files.Close()) }()
	names, err := f.list(ctx, target, name)
	if err != nil {
		return err
	}
	if !isDir {
		if err := f.read(name, filepath.Base(dir)); err != nil {
			return config.Usagef("read %s: %w", dir, err)
		}
		return nil
	}
	md.folders = append(md.folders, folder)
	for _, rel := range names {
		var usage *config.UsageError
		err := f.readNamed(rel)
		if errors.As(err, &usage) {
			return err
		}
		if err != nil {
			f.leaveOut(rel, err)
		}
	}
	return ctx.Err()
}

// readNamed reads a file of the folder as its name says.
func (f *folderReader) readNamed(rel string) error {
	switch {
	case source.IsVendored(path.Dir(rel)):
		return source.Vendored
	case source.IsDocument(rel):
		return f.read(rel, rel)
	case strings.EqualFold(path.Ext(rel), ".jsonl"):
		return f.readLines(rel)
	}
	return source.Neither
}

// list returns the files below a folder, or the one that is named, and reads when they changed. In a git repository
// what it ignores is left out, unless that is all.
func (f *folderReader) list(ctx context.Context, folder, name string) (names []string, err error) {
	repo, err := gitlog.Open(ctx, folder, "")
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		repo = nil // also a repository that git refuses to read is a folder like others
		err = nil
	}
	names = []string{name}
	if name == "" {
		names, err = listFiles(ctx, repo, folder)
	}
	if err == nil && len(names) == 0 && repo != nil {
		names, err = listFiles(ctx, nil, folder)
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	f.dates, err = readDates(ctx, repo, names, source.IsDocument)
	return names, err
}

// listFiles lists the files below a folder, of a repository those that git does not ignore in order.
func listFiles(ctx context.Context, repo *gitlog.Repo, folder string) ([]string, error) {
	if repo == nil {
		return source.Walk(ctx, folder)
	}
	names, err := repo.Files(ctx)
	slices.Sort(names)
	return names, err
}

// readDates reads when those files changed that are wanted.
func readDates(ctx context.Context, repo *gitlog.Repo, names []string, wanted func(name string) bool) (gitlog.Dates, error) {
	if repo == nil {
		return gitlog.Dates{}, nil
	}
	return repo.Dates(ctx, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !wanted(name) }))
}

// readLines reads a file of JSONL of the folder.
func (f *folderReader) readLines(rel string) error {
	file, info, err := f.files.File(rel)
	if err != nil {
		return err
	}
	defer file.Close()
	l, err := f.cmd.lines(f.a, f.path(rel))
	if err != nil {
		return err
	}
	l.written = info.ModTime()
	return l.read(file, f.add)
}

// leaveOut counts a file that is not read, and names it where it might be expected to be.
func (f *folderReader) leaveOut(rel string, err error) {
	reason := source.ReasonOf(err)
	if reason != source.Neither && reason != source.Vendored {
		fmt.Fprintf(f.a.Err, "%s: left out: %v\n", f.path(rel), err)
	}
	f.md.left[f.id(rel)] = reason != source.Empty
	f.md.reasons[string(reason)]++
}

// read makes items of the document called name, which is known as rel.
func (f *folderReader) read(name, rel string) error {
	text, info, err := f.files.Read(name, mostDocument)
	if err != nil {
		return err
	}
	if reason := source.CheckText(text); reason != "" {
		return reason
	}
	p := f.path(rel)
	id := f.id(rel)
	if n := invalidLine(text); n > 0 {
		f.md.left[id] = true // what is held of it stays
		f.add(fmt.Sprintf("%s:%d", p, n), schemas.MemoryItem{}, wholeLine("is not valid UTF-8, so the file is not read: save it as UTF-8"))
		return nil
	}
	switch other := f.md.files[id]; other {
	case "":
		f.md.files[id] = p
	case p:
		return nil // named twice
	default:
		return config.Usagef("%s and %s would be one item, as both are %s of %q: import them apart, each under a --name of its own", other, p, rel, f.name)
	}
	d := source.Document{ID: id, Name: f.name, Path: rel}
	d.Changed, d.Committed = f.dates.Of(name, text, info.ModTime())
	items := d.Items(text, f.cmd.kind(schemas.KindKnowledge), f.a.Tenant, f.cmd.labels())
	if len(items) == 0 {
		return source.Empty
	}
	for i := range items {
		uri := items[i].Provenance.SourceURI
		f.md.ids[items[i].ID] = true
		f.add(p+uri[strings.LastIndexByte(uri, ':'):], items[i], items[i].Validate())
	}
	return nil
}

// invalidLine is the first line of a text that is not UTF-8, 0 when all of it is.
func invalidLine(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if !utf8.Valid(line) {
			return n
		}
	}
	return 0
}

// documentsRead is what an import has read of documentation.
type documentsRead struct {
	files   map[string]string // by id, where they are
	folders []documentFolder  // that were read whole
	ids     map[string]bool   // of their sections, malformed ones too
	left    map[string]bool   // by id, files of the folders that were left out: what is held of them stays
	reasons map[string]int    // how many were, by reason
}

// heldDocuments returns the items of documents that the log has, by id; false when this machine does not have the log
// of the node that answers.
func heldDocuments(ctx context.Context, a *app.App, head *schemas.HeadReply) (map[string]heldItem, bool, error) {
	if a.LogInFolder() {
		if _, err := os.Stat(a.Path("log.db")); errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
	}
	f := fold{items: map[string]heldItem{},
		of:    func(id string) bool { return strings.HasPrefix(id, source.DocumentPrefix) },
		wants: func(m *schemas.MemoryItem) bool { return m.Category == source.DocumentCategory }}
	mine := true
	err := foldLog(ctx, a, f, func(log *app.Reading, s scope.Scope) bool {
		_, err := log.OpenCheckpoint(s, []byte(head.Checkpoint))
		mine = err == nil
		return mine
	})
	return f.items, mine, err
}

// keepDates gives each section that says what it said before the day that it had: the file's own is that of another change.
func keepDates(items []schemas.MemoryItem, held map[string]heldItem) {
	for i := range items {
		m := &items[i]
		if h, ok := held[m.ID]; ok && h.current && h.item.Content.Text() == m.Content.Text() {
			m.CreatedAt = h.item.CreatedAt
		}
	}
}

// had reports whether an item was in what was read.
func (m *documentsRead) had(item *schemas.MemoryItem) bool {
	id, name, rel := source.FileOf(item)
	of := func(f documentFolder) bool { return f.name == name && f.id(rel) == id }
	return m.files[id] != "" || !m.left[id] && slices.ContainsFunc(m.folders, of)
}

// end publishes the end of the current items of the log that were in the files that were read, or in files of the
// folders that were read whole, and are gone, unless that cannot be known here. It returns how many items ended.
func (m *documentsRead) end(ctx context.Context, p *publisher) (int, error) {
	var ended []schemas.MemoryItem
	var where []string
	now := time.Now()
	for _, id := range slices.Sorted(maps.Keys(p.held)) {
		h := p.held[id]
		if h.current && !m.ids[id] && m.had(&h.item) {
			ended = append(ended, endedAt(h.item, now))
			where = append(where, h.item.Provenance.SourceURI)
		}
	}
	before := p.Refused
	if err := p.addAll(ctx, "ending what is gone", ended, where); err != nil {
		return 0, fmt.Errorf("end what is gone: %w", err)
	}
	return len(ended) - (p.Refused - before), nil
}
