// Package document reads documentation as memory items of kind knowledge. An item is the
// text under one heading of a Markdown or reStructuredText file, with the headings above it
// on its first line and, as attributes, the file's path and its lines.
//
// The lines of an item's content stand in the file one below the other, from the attribute
// line on, so that a reader can tell the line of any part.
package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"satchel/cmd/internal/importer/source"
	"satchel/schemas"
)

// What the items have in common.
const (
	IDPrefix = "md:"      // their ids begin with it
	Category = "markdown" // their category
	pathMark = " › "      // between the headings of a path
)

const (
	maxFileID = 96                           // bytes of the part of an id that names the file
	maxSlug   = source.MaxID - maxFileID - 1 // bytes of the part that names the section
	maxTitle  = 1 << 10                      // bytes of a path of headings
)

// Known reports whether name is that of a file that this package reads.
func Known(name string) bool { return Language(name) != "" }

// Language is the language of a file by its name, "" for another kind of file.
func Language(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx":
		return "markdown"
	case ".rst":
		return "rst"
	}
	return ""
}

// Binary reports whether a file that holds text is no text.
func Binary(text []byte) bool { return bytes.IndexByte(text, 0) >= 0 }

// Section is the text under one heading.
type Section struct {
	Path    []string // of headings, the section's own last; empty before the first
	Text    string   // without the heading's own line
	Line    int      // of the heading, or of the text where there is none; from 1
	EndLine int      // the last with text, inclusive
	Place   int      // which of the sections of its path it is, from 0
}

// Title is the path in words.
func (s *Section) Title() string {
	title, _ := source.Cut(strings.Join(s.Path, pathMark), maxTitle)
	return title
}

// Content is the path on a line, and the text.
func (s *Section) Content() string {
	switch {
	case len(s.Path) == 0:
		return s.Text
	case s.Text == "":
		return s.Title()
	}
	return s.Title() + "\n" + s.Text
}

// id is the file's for the text before the first heading. Otherwise it is made from file
// and path, so that a section keeps it wherever in the file it is.
func (s *Section) id(file string) string {
	if len(s.Path) == 0 {
		return file
	}
	name := strings.Join(strings.Fields(strings.ToLower(strings.Join(s.Path, " . "))), "-")
	name = strings.ReplaceAll(name, "-.-", ".")
	if s.Place > 0 {
		name += "." + strconv.Itoa(s.Place)
	}
	return file + ":" + source.ID(name, maxSlug)
}

// FileID is the id of a file's first text, with which those of its sections begin: name is
// that of the folder or repository, rel the path below it.
func FileID(name, rel string) string {
	return IDPrefix + source.ID(name+"/"+rel, maxFileID-len(IDPrefix))
}

// FileOf returns the id of the file that an item is a section of, the name of its folder or
// repository, and the path below it.
func FileOf(item *schemas.MemoryItem) (id, name, rel string) {
	var a attributes
	if json.Unmarshal(item.Attributes, &a) != nil {
		return "", "", ""
	}
	id = FileID(a.Repo, a.Path)
	if item.ID != id && !strings.HasPrefix(item.ID, id+":") { // an id that the importer gave
		id = IDPrefix + strings.Split(strings.TrimPrefix(item.ID, IDPrefix), ":")[0]
	}
	return id, a.Repo, a.Path
}

// File is a file that is read.
type File struct {
	ID        string // FileID's, or another that begins with IDPrefix and has no other colon
	Name      string // of its folder or repository, as it is shown
	Path      string // below the folder, with slashes
	Changed   time.Time
	Committed bool // Changed is the time of a commit
}

// attributes locate an item of kind knowledge.
type attributes struct {
	Repo    string `json:"repo"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	EndLine int    `json:"end_line"`
	Heading string `json:"heading,omitempty"`
	Date    string `json:"date,omitempty"` // of the commit that changed the file last
}

// Item returns a section as a memory item of a kind.
func (f *File) Item(s *Section, kind schemas.Kind, tenant string, labels []string) (schemas.MemoryItem, error) {
	a := attributes{Repo: f.Name, Path: source.Plain(f.Path, '_'), Line: s.Line, EndLine: s.EndLine, Heading: source.Clean(s.Title())}
	if f.Committed {
		a.Date = f.Changed.UTC().Format(time.DateOnly)
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return schemas.MemoryItem{}, fmt.Errorf("encode section of %q: %w", f.Path, err)
	}
	return schemas.MemoryItem{ID: s.id(f.ID), Type: schemas.Semantic, Kind: kind, Scope: schemas.MemoryScope{Tenant: tenant},
		CreatedAt: f.Changed.UTC().Truncate(time.Second), SecurityLabel: labels, Category: Category,
		Content: schemas.TextContent(source.Clean(s.Content())), Attributes: raw, Provenance: schemas.Provenance{SourceURI: source.URI(f.Name, f.Path, s.Line)}}, nil
}
