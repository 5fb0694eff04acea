// Package code reads source code as memory items of kind code: the functions, methods,
// classes and types of a tree of files, each with its signature, doc comment and lines.
//
// Go is read by go/parser, the other languages by tree-sitter: Python, JavaScript,
// TypeScript, Java, Rust, C, C++, Ruby and PHP. A file that does not parse as a whole gives
// what could be read of it. Functions inside functions are part of their text. The units of
// a file are in order and the same every time.
//
// What is not worth remembering is left out, with a reason: vendored and generated code,
// minified and very large files, files of other languages.
package code

import (
	"bytes"
	"context"
	"errors"
	"path"
	"regexp"
	"strings"

	"satchel/cmd/internal/importer/source"
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

// CheckName says why the file called name, with slashes from the root, is not to be read, ""
// when it is.
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

// Units lists what a file holds, or says why it was left out. An error is of the parser
// as a whole, or the context's.
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
		var err error
		if r.parser, err = openParser(ctx); err != nil {
			return nil, "", err
		}
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
	return finishUnits(outline(name, g, text, captures)), "", nil
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
