package source

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"satchel/schemas"
)

// What the items of documents have in common.
const (
	DocumentPrefix   = "md:"      // their ids begin with it
	DocumentCategory = "markdown" // their category
	pathMark         = " › "      // between the headings of a path
)

const (
	maxFileID = 96                    // bytes of the part of an id that names the file
	maxSlug   = MaxID - maxFileID - 1 // bytes of the part that names the section
	maxTitle  = 1 << 10               // bytes of a path of headings
)

// Language is the language of a document by the name of its file, "" for another kind of file.
func Language(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx":
		return "markdown"
	case ".rst":
		return "rst"
	}
	return ""
}

// IsDocument reports whether name is that of a file that Sections reads.
func IsDocument(name string) bool { return Language(name) != "" }

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
	title, _ := Cut(strings.Join(s.Path, pathMark), maxTitle)
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
	return file + ":" + ID(name, maxSlug)
}

// FileID is the id of a document's first text, with which those of its sections begin: name is
// that of the folder or repository, rel the path below it.
func FileID(name, rel string) string {
	return DocumentPrefix + ID(name+"/"+rel, maxFileID-len(DocumentPrefix))
}

// FileOf returns the id of the document that an item is a section of, the name of its folder or
// repository, and the path below it.
func FileOf(item *schemas.MemoryItem) (id, name, rel string) {
	var a sectionAttributes
	if json.Unmarshal(item.Attributes, &a) != nil {
		return "", "", ""
	}
	id = FileID(a.Repo, a.Path)
	if item.ID != id && !strings.HasPrefix(item.ID, id+":") { // an id that the importer gave
		id = DocumentPrefix + strings.Split(strings.TrimPrefix(item.ID, DocumentPrefix), ":")[0]
	}
	return id, a.Repo, a.Path
}

// Document is a file of documentation.
type Document struct {
	ID        string // FileID's, or another that begins with DocumentPrefix and has no other colon
	Name      string // of its folder or repository, as it is shown
	Path      string // below the folder, with slashes
	Changed   time.Time
	Committed bool // Changed is the time of a commit
}

// sectionAttributes locate an item of kind knowledge.
type sectionAttributes struct {
	Repo    string `json:"repo"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	EndLine int    `json:"end_line"`
	Heading string `json:"heading,omitempty"`
	Date    string `json:"date,omitempty"` // of the commit that changed the file last
}

// Items returns the sections of the document, which holds text, as memory items of a kind.
func (d *Document) Items(text []byte, kind schemas.Kind, tenant string, labels []string) ([]schemas.MemoryItem, error) {
	sections := Sections(d.Path, string(text))
	items := make([]schemas.MemoryItem, len(sections))
	for i := range sections {
		s := &sections[i]
		a := sectionAttributes{Repo: d.Name, Path: Plain(d.Path, '_'), Line: s.Line, EndLine: s.EndLine, Heading: Clean(s.Title())}
		if d.Committed {
			a.Date = d.Changed.UTC().Format(time.DateOnly)
		}
		raw, err := json.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("encode section of %q: %w", d.Path, err)
		}
		items[i] = schemas.MemoryItem{ID: s.id(d.ID), Type: schemas.Semantic, Kind: kind, Scope: schemas.MemoryScope{Tenant: tenant},
			CreatedAt: d.Changed.UTC().Truncate(time.Second), SecurityLabel: labels, Category: DocumentCategory,
			Content: schemas.TextContent(Clean(s.Content())), Attributes: raw, Provenance: schemas.Provenance{SourceURI: URI(d.Name, d.Path, s.Line)}}
	}
	return items, nil
}
