package code

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"satchel/cmd/internal/importer/source/code/treesitter"
)

// maxMember is how large a constant may be that becomes one unit with its neighbours.
const maxMember = 512

// join makes one of constants that stand together, without an empty line between them, takes
// what stands behind a constant to it, and attributes before a unit to the unit.
func (o *outliner) join(all []found, after []span) []found {
	var out []found
	for _, f := range all {
		f.outer.start = o.attributed(f.outer.start)
		if f.kind != constantType {
			out = append(out, f)
			continue
		}
		f.end = f.at.end
		f.outer.end = o.trailed(f.outer.end, after)
		f.at.end = max(f.at.end, f.outer.end)
		if n := len(out) - 1; n >= 0 && o.neighbours(&out[n], &f) {
			out[n].outer.end, out[n].at.end = f.outer.end, f.at.end
			out[n].more = append(out[n].more, f.name)
			continue
		}
		out = append(out, f)
	}
	return out
}

// neighbours reports whether constant b stands right behind constant a, and both begin alike
// and are short.
func (o *outliner) neighbours(a, b *found) bool {
	if a.kind != constantType || o.opening(a) != o.opening(b) || b.outer.start < a.outer.end || b.outer.end-b.outer.start > maxMember || b.outer.end-a.outer.start > maxGroup ||
		len(a.more) == 0 && a.outer.end-a.outer.start > maxMember {
		return false
	}
	between := span{a.outer.end, b.outer.start}
	var rest []byte
	at := between.start
	for _, gap := range o.gaps[from(o.gaps, at):] {
		if gap.end > between.end {
			break
		}
		if gap.start >= at {
			rest, at = append(rest, o.source[at:gap.start]...), gap.end
		}
	}
	rest = append(rest, o.source[at:between.end]...)
	return len(bytes.Trim(rest, ",; \t\r\n")) == 0 && !blankLine(o.source[between.start:between.end])
}

// blankLine reports whether a text has an empty line between others.
func blankLine(text []byte) bool {
	return bytes.Contains(bytes.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\r' {
			return -1
		}
		return r
	}, text), []byte("\n\n"))
}

// attribute reports whether a text is an attribute of Rust or a decorator of TypeScript, and
// no comment.
func attribute(text string) bool {
	return strings.HasPrefix(text, "#[") || strings.HasPrefix(text, "@")
}

// attributed is where the attributes and decorators start that stand right before a unit.
func (o *outliner) attributed(start int) int {
	for _, gap := range slices.Backward(o.gaps[:from(o.gaps, start)]) {
		if gap.end > start || len(bytes.TrimSpace(o.source[gap.end:start])) > 0 || !attribute(o.text(gap)) {
			break
		}
		start = gap.start
	}
	return start
}

// trailed is the end of a constant with the comment behind it on its line, and with the
// docstring below it.
func (o *outliner) trailed(end int, after []span) int {
	if i := from(o.gaps, end); i < len(o.gaps) && len(bytes.Trim(o.source[end:o.gaps[i].start], ",; \t")) == 0 {
		end = o.gaps[i].end
	}
	if i := from(after, end); i < len(after) {
		if between := o.source[end:after[i].start]; len(bytes.TrimSpace(between)) == 0 && bytes.Count(between, []byte("\n")) == 1 {
			return after[i].end
		}
	}
	return end
}

// from is the place of the first of spans, which are in order, that starts at a byte or later.
func from(spans []span, at int) int {
	return sort.Search(len(spans), func(i int) bool { return spans[i].start >= at })
}

// skipped reports whether a constant is no unit: the text of a class or trait has it, or it
// is an import by another name.
func (o *outliner) skipped(all []found, open []int, f found) bool {
	if len(open) > 0 && all[open[len(open)-1]].kind != "scope" {
		return true
	}
	_, value, _ := strings.Cut(o.text(f.at), "=")
	value = strings.TrimPrefix(strings.TrimSpace(value), "await ")
	isImport := strings.HasPrefix(value, "require(") || strings.HasPrefix(value, "import(")
	name := o.text(f.name)
	return len(f.more) == 0 && (isImport || name == "__all__" || name == "_")
}

// valueType is what a constant is: in Python the name says it, in JavaScript the keyword.
func (o *outliner) valueType(f found) string {
	text, name := o.text(f.at), o.text(f.name)
	if o.g.language == treesitter.Python && name != strings.ToUpper(name) || strings.HasPrefix(text, "let ") || strings.HasPrefix(text, "var ") || strings.HasPrefix(text, "static mut ") {
		return variableType
	}
	return constantType
}

// declared is the signature of a constant: its line, or its beginning, or the names of all
// that stand together.
func (o *outliner) declared(f found) string {
	before := o.opening(&f)
	if len(f.more) > 0 {
		names := []string{o.text(f.name)}
		for _, name := range f.more {
			names = append(names, o.text(name))
		}
		return strings.TrimSpace(before + " " + listed(names))
	}
	first, _, more := strings.Cut(o.text(span{f.name.start, f.end}), "\n")
	if more || len(first) > maxLine {
		first, _, _ = strings.Cut(strings.TrimSuffix(first, " =")+" = ", " = ")
		if len(first) > maxLine {
			first = o.text(f.name)
		}
	}
	return strings.TrimSpace(before + " " + strings.TrimRight(first, "; {(["))
}

// opening is what stands before the name of a constant, without attributes.
func (o *outliner) opening(f *found) string {
	start := max(f.outer.start, bytes.LastIndexByte(o.source[:f.name.start], '\n')+1)
	return strings.Join(strings.Fields(o.text(span{start, f.name.start})), " ")
}

// module adds the documentation of a file: the docstring of Python where nothing but comments
// stands before it, or the comment before the declaration of a package of Java.
func (o *outliner) module(f found) {
	stem := strings.TrimSuffix(o.path, path.Ext(o.path))
	u := Unit{Path: o.path, Language: o.g.name, Type: moduleType, Name: path.Base(stem)}
	switch o.g.language {
	case treesitter.Python:
		at := 0
		for _, gap := range o.gaps {
			if gap.end <= f.at.start && len(bytes.TrimSpace(o.source[at:gap.start])) == 0 {
				at = gap.end
			}
		}
		if len(bytes.TrimSpace(o.source[at:f.at.start])) > 0 {
			return
		}
		if u.Doc = docstring(o.text(f.doc)); path.Base(stem) == "__init__" {
			u.Name = path.Base(path.Dir(stem))
		}
	case treesitter.Java:
		if u.Name != "package-info" {
			return
		}
		f.outer = f.at
		u.Name = strings.Trim(strings.TrimPrefix(o.text(f.at), "package"), " ;")
		u.Doc = o.doc(f)
	}
	if u.Doc == "" {
		return
	}
	u.Signature = moduleType + " " + u.Name
	u.QualifiedName = u.Name
	o.place(&u, f.at)
	u.Text = o.text(f.at)
	o.units = append(o.units, u)
}

// headComment adds what comments of Rust say of the file that they begin ("//!").
func (o *outliner) headComment() {
	at := span{}
	var doc []string
	for _, gap := range o.gaps {
		text := o.text(gap)
		if inner := strings.HasPrefix(text, "//!") || strings.HasPrefix(text, "/*!"); len(bytes.TrimSpace(o.source[at.end:gap.start])) > 0 || !inner && len(doc) > 0 {
			break
		} else if inner && len(doc) == 0 {
			at.start = gap.start
		} else if !inner {
			at.end = gap.end
			continue
		}
		at.end = gap.end
		doc = append(doc, comment(text))
	}
	name := path.Base(strings.TrimSuffix(o.path, path.Ext(o.path)))
	if (name == "mod" || name == "lib" || name == "main") && path.Dir(o.path) != "." {
		name = path.Base(strings.TrimSuffix(path.Dir(o.path), "/src"))
	}
	o.file(name, at, doc)
}

// fileComment adds what the comments at the head of a file say of it: those that belong to no unit, but for notices of
// copyright and what is meant for tools.
func (o *outliner) fileComment(all []found) {
	first := len(o.source)
	for _, f := range all {
		if f.kind == "file" && o.g.language == treesitter.Python {
			return // its docstring says it
		}
		if f.kind != "scope" {
			if own := o.comments(f); len(own) > 0 {
				first = min(first, own[0].start)
			}
			first = min(first, f.outer.start)
		}
	}
	at, end := span{}, 0
	var doc, part []string
	begin := 0
	take := func() {
		if text := strings.Join(part, "\n"); len(part) > 0 && saysSomething(text, o.text(span{begin, end})) {
			if doc = append(doc, text); at.isZero() {
				at.start = begin
			}
			at.end = end
		}
		part = nil
	}
	for _, gap := range o.gaps {
		between := o.source[min(end, gap.start):gap.start]
		if gap.start >= first || len(bytes.TrimPrefix(bytes.TrimSpace(between), []byte("<?php"))) > 0 || attribute(o.text(gap)) {
			break
		}
		if bytes.Count(between, []byte("\n")) > 1 {
			take()
		}
		if len(part) == 0 {
			begin = gap.start
		}
		part, end = append(part, comment(o.text(gap))), gap.end
	}
	take()
	o.file(path.Base(o.path), at, doc)
}

// notice is found in comments that say whose a file is, or who made it.
var notice = regexp.MustCompile(`(?i)copyright|licen[cs]e|\(c\)|©|^!|generated (?:by|from|code)`)

// saysSomething reports whether a comment tells a reader what a file is: a comment for documentation, or some words.
func saysSomething(text, marked string) bool {
	if notice.MatchString(text) {
		return false
	}
	words := len(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }))
	return strings.HasPrefix(marked, "/**") && words > 0 || words > 4
}

// file adds the unit of a file that its comments describe.
func (o *outliner) file(name string, at span, doc []string) {
	if len(doc) == 0 {
		return
	}
	u := Unit{Path: o.path, Language: o.g.name, Type: moduleType, Name: name, QualifiedName: name, Signature: moduleType + " " + name, Doc: strings.Join(doc, "\n"), Text: strings.TrimSpace(o.text(at))}
	o.place(&u, at)
	o.units = append(o.units, u)
}

// place fills in the lines of a unit.
func (o *outliner) place(u *Unit, at span) {
	u.StartLine = 1 + bytes.Count(o.source[:at.start], []byte("\n"))
	u.EndLine = u.StartLine + strings.Count(strings.TrimRight(o.text(at), "\n"), "\n")
}
