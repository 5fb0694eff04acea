package source

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
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

// id is the file's for the text before the first heading. Otherwise it is made from file and path, so that a section
// keeps it wherever in the file it is.
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

// FileID is the id of a document's first text, with which those of its sections begin: name is that of the folder or
// repository, rel the path below it.
func FileID(name, rel string) string {
	return DocumentPrefix + ID(name+"/"+rel, maxFileID-len(DocumentPrefix))
}

// FileOf returns the id of the document that an item is a section of, the name of its folder or repository, and the
// path below it.
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
func (d *Document) Items(text []byte, kind schemas.Kind, tenant string, labels []string) []schemas.MemoryItem {
	sections := Sections(d.Path, string(text))
	items := make([]schemas.MemoryItem, len(sections))
	for i := range sections {
		s := &sections[i]
		a := sectionAttributes{Repo: d.Name, Path: Plain(d.Path, '_'), Line: s.Line, EndLine: s.EndLine, Heading: Clean(s.Title())}
		if d.Committed {
			a.Date = d.Changed.UTC().Format(time.DateOnly)
		}
		items[i] = schemas.MemoryItem{ID: s.id(d.ID), Type: schemas.Semantic, Kind: kind, Scope: schemas.MemoryScope{Tenant: tenant},
			CreatedAt: d.Changed.UTC().Truncate(time.Second), SecurityLabel: labels, Category: DocumentCategory,
			Content: schemas.TextContent(Clean(s.Content())), Attributes: Encode(a), Provenance: schemas.Provenance{SourceURI: URI(d.Name, d.Path, s.Line)}}
	}
	return items
}

// maxLevel is how deep Markdown's headings go.
const maxLevel = 6

// heading is a title of a text.
type heading struct {
	level int
	title string
	lines int // that it takes
	skip  int // of them before the title
}

// Sections splits the text of the file called name at its headings, but for those in code fences. A heading with
// nothing under it is in the paths of those below it, and a section of its own only when there are none. A file without
// any text has none.
func Sections(name, text string) []Section {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	find := markdownHeadings
	if Language(name) == "rst" {
		find = rstHeadings
	}
	heads := find(lines)
	s := splitter{lines: lines, places: map[string]int{}}
	for i := 0; i < len(lines); i++ {
		h, ok := heads[i]
		if !ok {
			continue
		}
		depth, _ := slices.BinarySearch(s.levels, h.level)
		s.end(i, depth == len(s.levels))
		s.path = append(s.path[:depth], h.title)
		s.levels = append(s.levels[:depth], h.level)
		s.start = i + h.skip
		s.body = i + h.lines
		i += h.lines - 1
	}
	s.end(len(lines), false)
	return s.out
}

// splitter collects sections.
type splitter struct {
	lines  []string
	path   []string
	levels []int // of the headings of the path, ascending
	start  int   // line of the heading, from 0
	body   int   // first line after it
	places map[string]int
	out    []Section
}

// end adds the section up to a line; one without text is left out where a heading of a deeper level follows, which
// above says.
func (s *splitter) end(at int, above bool) {
	last := at
	for last > s.body && isBlank(s.lines[last-1]) {
		last--
	}
	section := Section{Path: slices.Clone(s.path), Line: s.start + 1}
	switch {
	case len(s.path) == 0:
		start := s.start
		for start < last && isBlank(s.lines[start]) {
			start++
		}
		section.Line = start + 1
		section.Text = strings.Join(s.lines[start:last], "\n")
	case last > s.body:
		// An underline is an empty line, so that each line of the content is one of the file.
		section.Text = strings.Repeat("\n", s.body-s.start-1) + strings.Join(s.lines[s.body:last], "\n")
	case above:
		return
	}
	section.EndLine = max(last, section.Line)
	if strings.TrimSpace(section.Content()) == "" {
		return // nothing, or a heading without words
	}
	key := strings.Join(s.path, "\x00")
	section.Place = s.places[key]
	s.places[key]++
	s.out = append(s.out, section)
}

// markdownHeadings finds the headings by the line on which they start. The title of a front matter is one of the first
// level where the text has no other. The lines of a front matter, but for its description, are emptied.
func markdownHeadings(lines []string) map[int]heading {
	heads := map[int]heading{}
	at := frontMatter(lines, heads)
	front := -1
	for i := range heads {
		front = i
	}
	fence := "" // the marks of the code that the line is in
	tag := ""   // what ends the HTML that the line is in
	for i := at; i < len(lines); i++ {
		trimmed := strings.TrimSpace(lines[i])
		if fence == "" && tag == "" {
			tag = verbatimTag(trimmed)
		}
		if tag != "" {
			if strings.Contains(strings.ToLower(trimmed), tag) {
				tag = ""
			}
			continue
		}
		mark := fenceMark(trimmed)
		switch {
		case fence == "" && mark != "":
			fence = mark
			continue
		case fence != "":
			if mark == trimmed && strings.HasPrefix(mark, fence) {
				fence = ""
			}
			continue
		}
		head := headingOf(lines[i])
		begins := i == at || isBlank(lines[i-1])
		if head.level == 0 && begins && i+1 < len(lines) {
			head = underlinedHeading(trimmed, lines[i], lines[i+1])
		}
		if head.level == 0 {
			continue
		}
		if head.level == 1 {
			delete(heads, front)
		}
		heads[i] = head
		i += head.lines - 1
	}
	return heads
}

// verbatimTag is what ends a block of HTML whose lines are no Markdown, "" for a line that begins none.
func verbatimTag(line string) string {
	lower := strings.ToLower(line)
	for _, name := range []string{"pre", "script", "style", "textarea"} {
		if rest, ok := strings.CutPrefix(lower, "<"+name); ok && (rest == "" || strings.ContainsAny(rest[:1], " >\t")) {
			return "</" + name + ">"
		}
	}
	if strings.HasPrefix(lower, "<!--") {
		return "-->"
	}
	return ""
}

// frontMatter reads what is between two lines of three hyphens at the beginning, and returns the line after it.
func frontMatter(lines []string, heads map[int]heading) int {
	if strings.TrimRight(lines[0], " \t") != "---" {
		return 0
	}
	for end := 1; end < len(lines) && end < 200; end++ {
		if strings.TrimRight(lines[end], " \t") != "---" {
			continue
		}
		for i := 0; i <= end; i++ {
			name, value, _ := strings.Cut(lines[i], ":")
			value = strings.Trim(strings.TrimSpace(value), `"'`)
			lines[i] = ""
			switch {
			case name == "title" && value != "":
				heads[i] = heading{level: 1, title: plainTitle(value), lines: 1}
			case name == "description" || name == "summary":
				lines[i] = value
			}
		}
		return end + 1
	}
	return 0
}

// underlinedHeading is the heading that a line of equals signs or hyphens makes of the line above it, which is trimmed,
// too. Its level is 0 where it makes none.
func underlinedHeading(trimmed, above, line string) heading {
	line = strings.TrimSpace(line)
	indented := strings.HasPrefix(above, "    ") || strings.HasPrefix(above, "\t")
	if trimmed == "" || indented || strings.ContainsAny(trimmed[:1], ">|-*+<#=`~") {
		return heading{}
	}
	for i, mark := range []string{"=", "-"} {
		if len(line) >= 3 && strings.Trim(line, mark) == "" {
			return heading{level: i + 1, title: plainTitle(trimmed), lines: 2}
		}
	}
	return heading{}
}

// isBlank reports whether a line has no text.
func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

// fenceMark returns the backquotes or tildes that a fence begins with.
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// headingOf returns the heading that a line is, one of level 0 for another line.
func headingOf(line string) heading {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "#")
	level := len(line) - len(rest)
	marks := rest == "" || rest[0] == ' ' || rest[0] == '\t'
	if !marks || indent > 3 || level > maxLevel {
		return heading{}
	}
	return heading{level: level, title: plainTitle(strings.TrimRight(strings.TrimSpace(rest), "#")), lines: 1}
}

var (
	linked = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()]*\)`)
	marked = regexp.MustCompile(`</?[a-zA-Z][^<>]*>|\{#[^{}]*\}|\{\{<?[^{}]*>?\}\}|<!--.*?-->`)
)

// plainTitle is a heading without the targets of its links, its markup and its anchors.
func plainTitle(text string) string {
	plain := strings.TrimSpace(marked.ReplaceAllString(linked.ReplaceAllString(text, "$1"), ""))
	if plain == "" {
		return strings.TrimSpace(text)
	}
	return plain
}

// rstHeadings finds the headings of reStructuredText: a line with a line of one mark below it, and above it perhaps.
// The levels are those of the marks, as they first appear.
func rstHeadings(lines []string) map[int]heading {
	heads := map[int]heading{}
	levels := map[string]int{}
	for i := 0; i+1 < len(lines); i++ {
		over := rstMark(lines[i])
		at := i
		if over != "" {
			at++
		}
		if at+1 >= len(lines) || isBlank(lines[at]) || rstMark(lines[at]) != "" {
			continue
		}
		under := rstMark(lines[at+1])
		text := strings.TrimSpace(lines[at])
		short := len(strings.TrimSpace(lines[at+1])) < len([]rune(text))
		inside := lines[at][0] == ' ' || i > 0 && !isBlank(lines[i-1])
		if over != "" {
			inside = over != under
		}
		if under == "" || short || inside {
			continue
		}
		style := over + under
		if levels[style] == 0 {
			levels[style] = len(levels) + 1
		}
		heads[i] = heading{level: levels[style], title: text, lines: at + 2 - i, skip: at - i}
		i = at + 1
	}
	return heads
}

// rstMark is the mark that a line repeats at least three times, and nothing else.
func rstMark(line string) string {
	line = strings.TrimRight(line, " \t")
	if len(line) < 3 || !strings.ContainsAny(line[:1], "=-~^\"'`#*+.:_<>") || strings.Trim(line, line[:1]) != "" {
		return ""
	}
	return line[:1]
}
