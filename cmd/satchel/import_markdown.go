package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

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

// readFolder makes items of the sections of each Markdown file below dir, or of dir itself when it is
// one, and notes in md what it read.
func (c *importFilesCmd) readFolder(a *app, dir string, isDir bool, md *markdownRead, add func(string, schemas.MemoryItem, []schemas.Issue)) error {
	root, file, err := c.markdownIn(dir, isDir)
	if err != nil {
		return err
	}
	start := root
	if isDir {
		md.folders = append(md.folders, markdownFolder{root, file})
	} else {
		start = filepath.Join(root, filepath.Base(dir))
	}
	return filepath.WalkDir(start, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || !isMarkdown(p) {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return fmt.Errorf("read %s: %w", p, err)
		}
		info, err := os.Stat(p)
		if err != nil {
			return fmt.Errorf("read %s: %w", p, err)
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return fmt.Errorf("read %s: %w", p, err)
		}
		file.rel = filepath.ToSlash(rel)
		id := file.id(root)
		if other, ok := md.files[id]; ok && other != p {
			return usagef("%s and %s would be one item, as both are %s of %q: import them apart, each under a --name of its own", other, p, file.rel, file.name)
		} else if ok {
			return nil // named twice
		}
		md.files[id] = p
		item := schemas.MemoryItem{ID: id, Type: schemas.Semantic, Kind: schemas.Kind(c.Kind),
			Scope: schemas.MemoryScope{Tenant: a.Tenant}, CreatedAt: info.ModTime().UTC().Truncate(time.Second), SecurityLabel: c.Label,
			Category: markdownCategory, Provenance: schemas.Provenance{SourceURI: "file:" + file.name + "/" + file.rel}}
		markdown(p, string(text), item, func(where string, item schemas.MemoryItem, issues []schemas.Issue) {
			md.ids[item.ID] = strings.TrimSpace(string(text)) != ""
			add(where, item, issues)
		})
		return nil
	})
}
