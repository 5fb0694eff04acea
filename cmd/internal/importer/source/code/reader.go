// Package code reads source code as memory items of kind code: the functions, methods, classes and types of a tree of
// files, each with its signature, doc comment and lines.
//
// Go is read by go/parser, the other languages by tree-sitter: Python, JavaScript, TypeScript, Java, Rust, C, C++, Ruby
// and PHP. A file that does not parse as a whole gives what could be read of it. Functions inside functions are part of
// their text. The units of a file are in order and the same every time.
//
// What is not worth remembering is left out, with a reason: vendored and generated code, minified and very large files,
// files of other languages.
package code

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode"

	"satchel/cmd/internal/importer/source"
	"satchel/schemas"
)

// MaxFile is the size in bytes over which a file is left out.
const MaxFile = 1 << 20

// Reader reads files. It is not safe for concurrent use.
type Reader struct {
	parser *treeParser // started with the first file that needs it
}

// Close stops the parsers.
func (r *Reader) Close(ctx context.Context) error {
	if r.parser == nil {
		return nil
	}
	return r.parser.close(ctx)
}

// CheckName says why the file called name, with slashes from the root, is not to be read, "" when it is.
func CheckName(name string) source.Reason {
	base := strings.ToLower(path.Base(name))
	switch {
	case grammarOf(name) == nil && source.IsSecret(name):
		return source.Secret
	case grammarOf(name) == nil:
		return source.OtherLanguage
	case source.IsVendored(path.Dir(name)):
		return source.Vendored
	case strings.Contains(base, ".min."), strings.Contains(base, ".bundle."):
		return source.Minified
	}
	return ""
}

// Units lists what a file holds, or says why it was left out. An error is of the parser as a whole, or the context's.
func (r *Reader) Units(ctx context.Context, name string, text []byte) ([]Unit, source.Reason, error) {
	reason := CheckName(name)
	if reason == "" {
		reason = checkText(text)
	}
	if reason != "" {
		return nil, reason, nil
	}
	g := grammarOf(name)
	if g.query == "" {
		return finishUnits(goUnits(name, text)), "", nil
	}
	if r.parser == nil {
		parser, err := openParser(ctx)
		if err != nil {
			return nil, "", err
		}
		r.parser = parser
	}
	captures, err := r.parser.run(ctx, g.language, g.query, text)
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case errors.Is(err, errParse):
		return nil, source.Unreadable, nil
	case err != nil:
		return nil, "", err
	}
	return finishUnits(outlineUnits(name, g, text, captures)), "", nil
}

// generated is how tools mark what they write, in the first lines of a file.
var generated = regexp.MustCompile(`(?i)(@generated\b|\bgenerated\b.{0,120}\b(do not|don't) (edit|modify)|\b(auto-?generated|automatically generated) (by|from|with|using)\b)`)

// checkText says why a file that holds text is not to be read, "" when it is.
func checkText(text []byte) source.Reason {
	if len(text) > MaxFile {
		return source.TooLarge
	}
	head := text[:min(len(text), 8<<10)]
	if reason := source.CheckText(head); reason != "" {
		return reason
	}
	lines := 1 + bytes.Count(text, []byte("\n"))
	if len(text) > 4<<10 && len(text)/lines > 300 {
		return source.Minified
	}
	for i, line := range bytes.SplitN(head, []byte("\n"), 21) {
		line = bytes.TrimSpace(line)
		comment := len(line) > 0 && bytes.IndexByte([]byte("/#*\"'-<"), line[0]) >= 0
		if i < 20 && comment && generated.Match(line) {
			return source.Generated
		}
	}
	return ""
}

// The limits of what is kept of one unit, in bytes.
const (
	maxText      = 16 << 10
	maxDoc       = 4 << 10
	maxSignature = 2 << 10
	maxGroup     = 4 << 10 // of neighbouring constants
	maxLine      = 200     // of a signature that is made of a line or of names
)

// Unit is a named piece of code.
type Unit struct {
	Path          string // of the file, from the root, with slashes
	Language      string
	Type          string // function, method, class, struct, interface, type, enum, trait, package, module, macro, constant, variable
	Name          string
	QualifiedName string // with what it is part of: Type.Method, Class.method, pkg.Func
	Parent        string // qualified name of the unit it is part of, "" for none
	Signature     string // declaration without body, on one line or as it is written
	Doc           string // doc comment without its marks
	Text          string // source; of a unit that holds others, without their bodies
	StartLine     int    // from 1
	EndLine       int    // inclusive
	Ordinal       int    // 0, or the how-manieth of this name in the file, from 2
	Cut           bool   // Text is the beginning
}

// The types of what has no body.
const (
	constantType = "constant"
	variableType = "variable"
	moduleType   = "module" // a file as a whole, or a package
)

// listNames is the names of a group, as many as a line holds.
func listNames(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	all := strings.Join(names, ", ")
	if len(all) > maxLine {
		all = all[:strings.LastIndex(all[:maxLine], ", ")+1] + " …"
	}
	return "(" + all + ")"
}

// key is what tells a unit from every other of the repository.
func (u *Unit) key() string {
	key := u.Path + "#" + strings.ReplaceAll(u.QualifiedName, "::", ".")
	if u.Ordinal > 0 {
		key += fmt.Sprintf(".%d", u.Ordinal)
	}
	return key
}

// ItemID is the id of the unit's item.
func (u *Unit) ItemID(repo string) string { return ItemID(repo, u.key()) }

// ItemID returns code:<repo>:<path>:<qualified name>, slashes as colons. What has other characters than an id may have,
// or is longer, is shortened and ends in a hash.
func ItemID(repo, key string) string {
	const kind = "code:"
	return kind + source.ID(repo+"/"+key, source.MaxID-len(kind))
}

// attributes are those of schemas.CodeAttributes and what goes beyond them.
type attributes struct {
	schemas.CodeAttributes
	Repo string `json:"repo"`
	Hash string `json:"content_hash"` // SHA-256 of the text, 16 hex digits
	Cut  bool   `json:"text_cut,omitempty"`
}

// Item returns a unit of the repository called repo as a memory item. changed is when its file last changed.
func (u *Unit) Item(repo, tenant string, labels []string, changed time.Time) schemas.MemoryItem {
	a := attributes{Repo: repo, Hash: source.Hash([]byte(u.Text), 8), Cut: u.Cut, CodeAttributes: schemas.CodeAttributes{
		FilePath: u.Path, StartLine: u.StartLine, EndLine: u.EndLine, Language: u.Language, Name: u.Name, QualifiedName: u.QualifiedName,
		UnitType: u.Type, Signature: u.Signature, Docstring: u.Doc}}
	item := schemas.MemoryItem{ID: ItemID(repo, u.key()), Type: schemas.Semantic, Kind: schemas.KindCode, Scope: schemas.MemoryScope{Tenant: tenant},
		CreatedAt: changed.UTC(), SecurityLabel: labels, Category: u.Type, Content: schemas.TextContent(u.Text), Attributes: source.Encode(a),
		Provenance: schemas.Provenance{SourceURI: source.URI(repo, u.Path, u.StartLine)}}
	if isTest(u.Path) || strings.HasPrefix(u.QualifiedName, "tests::") {
		less := testImportance
		item.Importance = &less
	}
	if u.Parent != "" {
		item.Links = []schemas.Link{{Rel: schemas.RelPartOf, To: (&Unit{Path: u.Path, QualifiedName: u.Parent}).ItemID(repo)}}
	}
	return item
}

// isTest reports whether a file holds tests, by the customs of the languages.
func isTest(name string) bool {
	return testPath.MatchString(strings.TrimSuffix(name, path.Ext(name)))
}

// testPath is the path of a file of tests, without its extension.
var testPath = regexp.MustCompile(`(^|/)((tests?|__tests__|spec|testdata)/|test_[^/]*$)|[_.](test|spec)$`)

// finishUnits cuts what is too long, makes it valid UTF-8 and numbers units of one name.
func finishUnits(units []Unit) []Unit {
	seen := map[string]int{}
	for i := range units {
		u := &units[i]
		u.Text, u.Cut = source.Cut(source.Clean(u.Text), maxText)
		u.Doc, _ = source.Cut(source.Clean(u.Doc), maxDoc)
		u.Signature, _ = source.Cut(source.Clean(u.Signature), maxSignature)
		u.Path = source.Plain(u.Path, unicode.ReplacementChar)
		u.Name = source.Clean(u.Name)
		u.QualifiedName = source.Clean(u.QualifiedName)
		u.Parent = source.Clean(u.Parent)
		seen[u.QualifiedName]++
		if n := seen[u.QualifiedName]; n > 1 {
			u.Ordinal = n
		}
	}
	return units
}
