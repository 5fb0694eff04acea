package code

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	"satchel/schemas"
)

// The limits of what is kept of one unit, in bytes.
const (
	maxText      = 16 << 10
	maxDoc       = 4 << 10
	maxSignature = 2 << 10
	maxItemID    = 128
)

// Unit is a named piece of code.
type Unit struct {
	Path          string // of the file, from the root, with slashes
	Language      string
	Type          string // function, method, class, struct, interface, type, enum, trait, module, macro
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

// key is what tells a unit from every other of the repository.
func (u *Unit) key() string {
	key := u.Path + "#" + u.QualifiedName
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
	whole := repo + ":" + key
	var b strings.Builder
	b.WriteString("code:")
	exact := !strings.ContainsAny(key, ":")
	for _, r := range whole {
		switch {
		case r == '/' || r == '#':
			b.WriteByte(':')
		case r == '.' || r == '_' || r == '-' || r == ':' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z':
			b.WriteRune(r)
		default:
			exact = false
			b.WriteByte('_')
		}
	}
	id := b.String()
	if exact && len(id) <= maxItemID {
		return id
	}
	sum := sha256.Sum256([]byte(whole))
	hash := hex.EncodeToString(sum[:10])
	if room := maxItemID - len(hash) - 1; len(id) > room {
		id = id[:room]
	}
	return id + "." + hash
}

// source names a unit for people: code:<repo>/<path>#<qualified name>. No other unit of
// any repository has the same.
func (u *Unit) source(repo string) string {
	uri := plain("code:" + repo + "/" + u.key())
	if len(uri) <= schemas.MaxURI {
		return uri
	}
	return ItemID(repo, u.key())
}

// plain replaces control characters and what is not UTF-8.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, clean(s))
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
	sum := sha256.Sum256([]byte(u.Text))
	raw, err := json.Marshal(attributes{Repo: repo, Hash: hex.EncodeToString(sum[:8]), Cut: u.Cut, CodeAttributes: schemas.CodeAttributes{
		FilePath: u.Path, StartLine: u.StartLine, EndLine: u.EndLine, Language: u.Language, Name: u.Name, QualifiedName: u.QualifiedName,
		UnitType: u.Type, Signature: u.Signature, Docstring: u.Doc}})
	if err != nil {
		return schemas.MemoryItem{}, fmt.Errorf("encode %s: %w", u.key(), err)
	}
	item := schemas.MemoryItem{ID: ItemID(repo, u.key()), Type: schemas.Semantic, Kind: schemas.KindCode, Scope: schemas.MemoryScope{Tenant: tenant},
		CreatedAt: changed.UTC(), SecurityLabel: labels, Category: u.Type, Content: schemas.TextContent(u.Text), Attributes: raw,
		Provenance: schemas.Provenance{SourceURI: u.source(repo)}}
	if isTest(u.Path) {
		less := testImportance
		item.Importance = &less
	}
	if u.Parent != "" {
		item.Links = []schemas.Link{{Rel: schemas.RelPartOf, To: ItemID(repo, u.Path+"#"+u.Parent)}}
	}
	return item, nil
}

// testImportance is below the default of 0.5: whoever asks how something works wants the
// code itself before what checks it.
const testImportance = .3

// isTest reports whether a file holds tests, by the customs of the languages.
func isTest(name string) bool {
	for _, dir := range strings.Split(path.Dir(name), "/") {
		switch dir {
		case "test", "tests", "__tests__", "spec", "testdata":
			return true
		}
	}
	stem := strings.TrimSuffix(path.Base(name), path.Ext(name))
	return strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "_spec") ||
		strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec")
}

// finish cuts what is too long, makes it valid UTF-8 and numbers units of one name.
func finish(units []Unit) []Unit {
	seen := map[string]int{}
	for i := range units {
		u := &units[i]
		u.Text, u.Cut = cut(clean(u.Text), maxText)
		u.Doc, _ = cut(clean(u.Doc), maxDoc)
		u.Signature, _ = cut(clean(u.Signature), maxSignature)
		u.Path = plain(u.Path)
		u.Name, u.QualifiedName, u.Parent = clean(u.Name), clean(u.QualifiedName), clean(u.Parent)
		if n := seen[u.QualifiedName] + 1; n > 1 {
			u.Ordinal = n
		}
		seen[u.QualifiedName]++
	}
	return units
}

func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "�"), "\x00", "�")
}

// cut shortens s to at most limit bytes, at a character.
func cut(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit--
	}
	return s[:limit], true
}
