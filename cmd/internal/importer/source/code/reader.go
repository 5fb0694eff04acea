// Package code reads source code as memory items of kind code: the functions, methods,
// classes and types of a tree of files, each with its signature, doc comment and lines.
//
// Go is read by go/parser, the other languages by tree-sitter (package treesitter):
// Python, JavaScript, TypeScript, Java, Rust, C, C++, Ruby and PHP. A file that does not
// parse as a whole gives what could be read of it. Functions inside functions are part
// of their text. The units of a file are in order and the same every time.
//
// What is not worth remembering is left out and counted: vendored and generated code,
// minified and very large files, files of other languages.
package code

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"strings"

	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/importer/source/code/treesitter"
)

// MaxFile is the size in bytes over which a file is left out.
const MaxFile = 1 << 20

// Reason says why a file was left out.
type Reason string

// The reasons.
const (
	OtherLanguage Reason = "other language"
	Secret        Reason = "secret"
	Vendored      Reason = "vendored"
	Generated     Reason = "generated"
	Minified      Reason = "minified"
	TooLarge      Reason = "too large"
	Binary        Reason = "binary"
	Unreadable    Reason = "unreadable"
	LFS           Reason = "in Git LFS and not fetched"
)

// Reader reads files. It is not safe for concurrent use.
type Reader struct {
	parser  *treesitter.Parser // started with the first file that needs it
	queries map[string]*treesitter.Query
}

// Close stops the parsers.
func (r *Reader) Close(ctx context.Context) error {
	if r.parser == nil {
		return nil
	}
	return r.parser.Close(ctx)
}

// Known says why the file called name, with slashes from the root, is not to be read, ""
// when it is.
func Known(name string) Reason {
	if ext := strings.ToLower(path.Ext(name)); ext != ".go" {
		if _, ok := grammarOf(ext); !ok {
			if isSecret(path.Base(name)) {
				return Secret
			}
			return OtherLanguage
		}
	}
	if IsVendored(path.Dir(name)) {
		return Vendored
	}
	if base := strings.ToLower(path.Base(name)); strings.Contains(base, ".min.") || strings.Contains(base, ".bundle.") {
		return Minified
	}
	return ""
}

// isSecret reports whether a file of this name holds keys or passwords, by custom.
func isSecret(base string) bool {
	base = strings.ToLower(base)
	switch path.Ext(base) {
	case ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk":
		return true
	}
	switch base {
	case ".env", ".netrc", ".npmrc", ".pypirc", ".htpasswd", ".pgpass", "credentials", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519":
		return true
	}
	return strings.HasPrefix(base, ".env.")
}

// IsVendored reports whether a folder, with slashes from the root, holds files of others.
func IsVendored(folder string) bool {
	for _, part := range strings.Split(folder, "/") {
		switch part {
		case "vendor", "node_modules", "third_party", "thirdparty", "bower_components", "__pycache__", ".git", ".venv", "venv", "site-packages", ".tox", "Pods",
			".obsidian", ".logseq", ".yarn", ".next", ".nuxt", ".svelte-kit", ".terraform", ".gradle":
			return true
		}
	}
	return false
}

// Units lists what a file holds, or says why it was left out. An error is of the parser
// as a whole, or the context's.
func (r *Reader) Units(ctx context.Context, name string, source []byte) ([]Unit, Reason, error) {
	if reason := Known(name); reason != "" {
		return nil, reason, nil
	}
	if reason := unworthy(source); reason != "" {
		return nil, reason, nil
	}
	if path.Ext(name) == ".go" {
		return finish(goUnits(name, source)), "", nil
	}
	g, _ := grammarOf(path.Ext(name))
	query, err := r.query(ctx, g)
	if err != nil {
		return nil, "", err
	}
	captures, err := r.parser.Run(ctx, query, source)
	if err != nil {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		return nil, Unreadable, nil
	}
	return finish(outline(name, g, source, captures)), "", nil
}

func (r *Reader) query(ctx context.Context, g grammar) (*treesitter.Query, error) {
	if q := r.queries[g.name]; q != nil {
		return q, nil
	}
	if r.parser == nil {
		var err error
		if r.parser, err = treesitter.Open(ctx); err != nil {
			return nil, err
		}
		r.queries = map[string]*treesitter.Query{}
	}
	q, err := r.parser.Query(ctx, g.language, g.query)
	if err != nil {
		return nil, err
	}
	r.queries[g.name] = q
	return q, nil
}

// generated is how tools mark what they write, in the first lines of a file.
var generated = regexp.MustCompile(`(?i)(@generated\b|\bgenerated\b.{0,120}\b(do not|don't) (edit|modify)|\b(auto-?generated|automatically generated) (by|from|with|using)\b)`)

// unworthy looks at the text.
func unworthy(text []byte) Reason {
	if len(text) > MaxFile {
		return TooLarge
	}
	head := text[:min(len(text), 8<<10)]
	if bytes.IndexByte(head, 0) >= 0 {
		return Binary
	}
	if source.LFSPointer(text) {
		return LFS
	}
	if lines := 1 + bytes.Count(text, []byte("\n")); len(text) > 4<<10 && len(text)/lines > 300 {
		return Minified
	}
	for i, line := range bytes.SplitN(head, []byte("\n"), 21) {
		line = bytes.TrimSpace(line)
		if i < 20 && len(line) > 0 && bytes.IndexByte([]byte("/#*\"'-<"), line[0]) >= 0 && generated.Match(line) {
			return Generated
		}
	}
	return ""
}
