package passage

import (
	"cmp"
	"encoding/json"
	"path"
	"strconv"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// Of reports whether an item is cut into passages: a piece of code, a commit, a document, which was read from
// a file or a repository or is longer than a passage, or a long memory that is no turn of a conversation.
func Of(v *candidate.Visible) bool {
	if v.Content.Raw() != nil {
		return false
	}
	switch v.Kind {
	case schemas.KindCode, schemas.KindCommit:
		return true
	case schemas.KindKnowledge:
		return v.FromFile() || strings.HasPrefix(v.Provenance.SourceURI, gitURI) || estimateTokens(len(v.Content.Text())) > language.LongestBlock
	}
	if v.Kind != schemas.KindMemory {
		return false
	}
	isSaid := v.SessionID() != "" || v.Speaker != ""
	if v.FromFile() && v.Category == markdown && !isSaid {
		return true
	}
	return max(v.Counted, estimateTokens(len(v.Content.Text()))) > longMemory && !v.IsTurn()
}

// longMemory is the tokens up to which a memory is shown whole.
const longMemory = 1000

const (
	gitURI   = "git:"     // the address of what was read from a repository begins with it
	markdown = "markdown" // the category of what was read from a Markdown file
)

// source is where an item comes from, and what is shown before its passages.
type source struct {
	kind  schemas.Kind
	path  string
	line  int    // of the beginning of the content, from 1; 0: unknown
	name  string // a name, a heading or a subject
	found string // words that every passage of the item is found by
	sign  string // the signature of code, on one line
	doc   string // a comment that is before the code and is not in the content
	about string // sha, date and author of a commit
	title int    // length of the content's first line, where it is a heading or a subject
	test  bool   // it tests something
}

// attributes are those that importers write, under each of their names.
type attributes struct {
	Path      string `json:"path"`
	FilePath  string `json:"file_path"`
	Line      int    `json:"line"`
	StartLine int    `json:"start_line"`
	Name      string `json:"qualified_name"`
	Signature string `json:"signature"`
	Doc       string `json:"doc"`
	Docstring string `json:"docstring"`
	Heading   string `json:"heading"`
	SHA       string `json:"sha"`
	Author    string `json:"author"`
	Date      string `json:"date"`
	Timestamp string `json:"timestamp"`
	Committed string `json:"committed"`
}

const (
	longestSignature = 150 // bytes that are shown
	shortSHA         = 8
	longestTitle     = 200 // bytes of a first line that may be a heading
	longestSaid      = 512 // bytes of what is said, or found, with each passage
)

// sourceOf reads an item. Of a redacted one it reads the content alone, for attributes may say again what was removed.
// Of one that is masked it reads the address, too, and of a commit who wrote it and when: what is masked in the content
// is masked there.
func sourceOf(c *candidate.Candidate) source {
	s := source{kind: c.Kind}
	text := c.Content.Text()
	var a attributes
	if c.Verdict.Redact || json.Unmarshal(c.Attributes, &a) != nil {
		a = attributes{}
	}
	sha := commitOf(c.Provenance.SourceURI)
	switch {
	case !c.Masked && !c.Verdict.Redact:
		s.path = cmp.Or(a.Path, a.FilePath, pathOf(c.Provenance.SourceURI))
	case sha != "" && !c.CreatedAt.IsZero():
		date := cmp.Or(a.Date, a.Timestamp, c.CreatedAt.UTC().Format(time.DateOnly))
		a = attributes{SHA: sha, Author: a.Author, Date: date, Committed: a.Committed}
	case !c.Verdict.Redact: // what masks personal data has masked the address, too
		a = attributes{}
		s.path = pathOf(c.Provenance.SourceURI)
		at := max(0, strings.LastIndexByte(s.path, ':'))
		if line, err := strconv.Atoi(strings.TrimPrefix(s.path[at:], ":")); at > 0 && err == nil {
			s.path = s.path[:at]
			a.Line = line
		}
	}
	s.line = max(a.Line, a.StartLine)
	s.test = isTest(s.path)
	first, _, more := strings.Cut(text, "\n")
	switch c.Kind {
	case schemas.KindCode:
		s.sign = truncateText(strings.Join(strings.Fields(a.Signature), " "), longestSignature)
		s.name = cmp.Or(a.Name, s.sign, first)
		s.found = s.path + " " + a.Name + " " + a.Signature
		if doc := strings.TrimSpace(cmp.Or(a.Doc, a.Docstring)); !hasComment(text, doc) {
			s.doc = doc
		}
	case schemas.KindCommit:
		s.title = len(first)
		s.name = first
		s.found = first
		s.about = describeCommit(&a)
	default:
		if more && isTitle(first, a.Heading) {
			s.title = len(first)
			s.found = s.path + " " + first
			s.name = first[strings.LastIndex(first, "›")+1:]
		} else {
			s.name = cmp.Or(a.Heading, path.Base(s.path))
			s.found = s.path + " " + a.Heading
		}
	}
	for _, said := range [...]*string{&s.path, &s.name, &s.found, &s.about} {
		*said = truncateText(*said, longestSaid)
	}
	return s
}

// pathOf is the path in the address of a file, "" for another address.
func pathOf(uri string) string {
	file, ok := strings.CutPrefix(uri, candidate.FileURI)
	if !ok {
		return ""
	}
	file, _, _ = strings.Cut(file, "#")
	return file
}

// commitOf is the sha in the address of a commit, "" for another address.
func commitOf(uri string) string {
	rest, ok := strings.CutPrefix(uri, gitURI)
	if sha := rest[strings.LastIndexByte(rest, '@')+1:]; ok && sha != rest && isSHA(sha) {
		return sha
	}
	return ""
}

// isSHA reports whether a text looks like the name of a commit.
func isSHA(text string) bool {
	return len(text) >= shortSHA && strings.Trim(text, "0123456789abcdef") == ""
}

// isTitle reports whether the first line of a text looks like its heading.
func isTitle(line, heading string) bool {
	if line == heading || strings.HasSuffix(line, "› "+heading) && heading != "" {
		return true
	}
	trimmed := strings.TrimSpace(line)
	return heading == "" && trimmed != "" && len(trimmed) <= longestTitle && !strings.ContainsAny(trimmed[:1], "-*+|>`~#0123456789<") &&
		!strings.ContainsAny(trimmed[len(trimmed)-1:], ".,;:|`")
}

// describeCommit is the beginning of a commit's head.
func describeCommit(a *attributes) string {
	parts := []string{"commit"}
	if a.SHA != "" {
		parts = append(parts, a.SHA[:min(len(a.SHA), shortSHA)])
	}
	if date := cmp.Or(a.Date, a.Timestamp); date != "" {
		parts = append(parts, date[:min(len(date), len("2006-01-02"))])
	}
	if a.Author != "" {
		parts = append(parts, a.Author)
	}
	text := strings.Join(parts, " ")
	if _, err := time.Parse(time.DateOnly, a.Committed); err == nil {
		text += ", committed " + a.Committed
	}
	return text
}

// hasComment reports whether a content has a comment already: its first line.
func hasComment(text, doc string) bool {
	first, _, _ := strings.Cut(doc, "\n")
	return doc == "" || strings.Contains(text, strings.TrimSpace(first))
}

// formatHead is what is shown before the passages of an item, which begin in a line.
func (s *source) formatHead(line int) string {
	where := s.path
	if where != "" && line > 0 {
		where += ":" + strconv.Itoa(line)
	}
	switch {
	case s.kind == schemas.KindCommit:
		return s.about + ":"
	case s.title > 0 && where != "":
		return where + " ›"
	}
	return where
}

// isTest reports whether a file tests something or is an example, by the customs of the languages.
func isTest(name string) bool {
	dir, base := path.Split(name)
	for part := range strings.SplitSeq(dir, "/") {
		switch part {
		case "test", "tests", "__tests__", "spec", "testdata":
			return true
		}
	}
	stem := strings.TrimSuffix(base, path.Ext(base))
	for _, mark := range []string{"_test", "_spec", ".test", ".spec", "_tests"} {
		if strings.HasSuffix(stem, mark) {
			return true
		}
	}
	return strings.HasPrefix(stem, "test_") || stem == "conftest"
}

// truncateText shortens a text to at most n bytes, at a character.
func truncateText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
