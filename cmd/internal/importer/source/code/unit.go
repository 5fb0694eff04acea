package code

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"satchel/cmd/internal/importer/source"
	"satchel/schemas"
)

// The limits of what is kept of one unit, in bytes.
const (
	maxText      = 16 << 10
	maxDoc       = 4 << 10
	maxSignature = 2 << 10
	maxGroup     = 4 << 10 // of constants that stand together
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
	Signature     string // declaration without body, on one line or as it stands
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

// ItemID returns code:<repo>:<path>:<qualified name>, slashes as colons. What has other
// characters than an id may have, or is longer, is shortened and ends in a hash.
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

// Item returns a unit of the repository called repo as a memory item. changed is when
// its file last changed.
func (u *Unit) Item(repo, tenant string, labels []string, changed time.Time) (schemas.MemoryItem, error) {
	raw, err := json.Marshal(attributes{Repo: repo, Hash: source.Hash([]byte(u.Text), 8), Cut: u.Cut, CodeAttributes: schemas.CodeAttributes{
		FilePath: u.Path, StartLine: u.StartLine, EndLine: u.EndLine, Language: u.Language, Name: u.Name, QualifiedName: u.QualifiedName,
		UnitType: u.Type, Signature: u.Signature, Docstring: u.Doc}})
	if err != nil {
		return schemas.MemoryItem{}, fmt.Errorf("encode %s: %w", u.key(), err)
	}
	item := schemas.MemoryItem{ID: ItemID(repo, u.key()), Type: schemas.Semantic, Kind: schemas.KindCode, Scope: schemas.MemoryScope{Tenant: tenant},
		CreatedAt: changed.UTC(), SecurityLabel: labels, Category: u.Type, Content: schemas.TextContent(u.Text), Attributes: raw,
		Provenance: schemas.Provenance{SourceURI: source.URI(repo, u.Path, u.StartLine)}}
	if isTest(u.Path) || strings.HasPrefix(u.QualifiedName, "tests::") {
		less := testImportance
		item.Importance = &less
	}
	if u.Parent != "" {
		item.Links = []schemas.Link{{Rel: schemas.RelPartOf, To: (&Unit{Path: u.Path, QualifiedName: u.Parent}).ItemID(repo)}}
	}
	return item, nil
}

// isTest reports whether a file holds tests, by the customs of the languages.
func isTest(name string) bool {
	tests := []string{"test", "tests", "__tests__", "spec", "testdata"}
	inTests := slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool { return slices.Contains(tests, dir) })
	return inTests || testName.MatchString(strings.TrimSuffix(path.Base(name), path.Ext(name)))
}

// testName is the name of a file of tests, without its extension.
var testName = regexp.MustCompile(`^test_|[_.](test|spec)$`)

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
