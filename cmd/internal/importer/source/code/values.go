package code

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"
)

// maxMember is how large a constant may be that becomes one unit with its neighbours.
const maxMember = 512

// joinConstants makes one of neighbouring constants, without an empty line between them, takes what follows a constant
// to it, and attributes before a unit to the unit.
func (o *outliner) joinConstants(all []found, after []span) []found {
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
		if len(out) == 0 || !o.areNeighbours(&out[len(out)-1], &f) {
			out = append(out, f)
			continue
		}
		last := &out[len(out)-1]
		last.outer.end = f.outer.end
		last.at.end = f.at.end
		last.more = append(last.more, f.name)
	}
	return out
}

// areNeighbours reports whether constant b follows right behind constant a, and both begin alike and are short.
func (o *outliner) areNeighbours(a, b *found) bool {
	short := b.outer.size() <= maxMember && b.outer.end-a.outer.start <= maxGroup && (len(a.more) > 0 || a.outer.size() <= maxMember)
	if a.kind != constantType || b.outer.start < a.outer.end || !short {
		return false
	}
	if o.opening(a) != o.opening(b) {
		return false
	}
	between := span{a.outer.end, b.outer.start}
	var rest []byte
	at := between.start
	for _, gap := range o.gaps[firstFrom(o.gaps, at):] {
		if gap.end > between.end {
			break
		}
		if gap.start >= at {
			rest = append(rest, o.source[at:gap.start]...)
			at = gap.end
		}
	}
	rest = append(rest, o.source[at:between.end]...)
	return len(bytes.Trim(rest, ",; \t\r\n")) == 0 && !blankLine.MatchString(o.text(between))
}

// blankLine is an empty line between others.
var blankLine = regexp.MustCompile(`\n[ \t\r]*\n`)

// isAttribute reports whether a text is an attribute of Rust or a decorator of TypeScript, and no comment.
func isAttribute(text string) bool {
	return strings.HasPrefix(text, "#[") || strings.HasPrefix(text, "@")
}

// attributed is where the attributes and decorators start that are right before a unit.
func (o *outliner) attributed(start int) int {
	for _, gap := range slices.Backward(o.gaps[:firstFrom(o.gaps, start)]) {
		if gap.end > start || len(bytes.TrimSpace(o.source[gap.end:start])) > 0 || !isAttribute(o.text(gap)) {
			break
		}
		start = gap.start
	}
	return start
}

// trailed is the end of a constant with the comment behind it on its line, and with the plainDocstring below it.
func (o *outliner) trailed(end int, after []span) int {
	if i := firstFrom(o.gaps, end); i < len(o.gaps) && len(bytes.Trim(o.source[end:o.gaps[i].start], ",; \t")) == 0 {
		end = o.gaps[i].end
	}
	if i := firstFrom(after, end); i < len(after) {
		if between := o.source[end:after[i].start]; len(bytes.TrimSpace(between)) == 0 && bytes.Count(between, []byte("\n")) == 1 {
			return after[i].end
		}
	}
	return end
}

// firstFrom is the place of the first of spans, which are in order, that starts at a byte or later.
func firstFrom(spans []span, at int) int {
	return sort.Search(len(spans), func(i int) bool { return spans[i].start >= at })
}

// isNoUnit reports whether a constant is no unit: the text of a class or trait has it, or it is an import by another
// name.
func (o *outliner) isNoUnit(all []found, open []int, f found) bool {
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
	name := o.text(f.name)
	keyword := func(k string) bool { return bytes.HasPrefix(o.source[f.at.start:f.at.end], []byte(k)) }
	lower := o.g.language == python && name != strings.ToUpper(name)
	if lower || slices.ContainsFunc([]string{"let ", "var ", "static mut "}, keyword) {
		return variableType
	}
	return constantType
}

// declared is the signature of a constant: its line, or its beginning, or the names of all of its group.
func (o *outliner) declared(f found) string {
	before := o.opening(&f)
	if len(f.more) > 0 {
		names := []string{o.text(f.name)}
		for _, name := range f.more {
			names = append(names, o.text(name))
		}
		return strings.TrimSpace(before + " " + listNames(names))
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

// opening is what is before the name of a constant, without attributes.
func (o *outliner) opening(f *found) string {
	start := max(f.outer.start, bytes.LastIndexByte(o.source[:f.name.start], '\n')+1)
	return strings.Join(strings.Fields(o.text(span{start, f.name.start})), " ")
}

// addModule adds the documentation of a file: the docstring of Python where nothing but comments is before it, or the
// comment before the declaration of a package of Java.
func (o *outliner) addModule(f found) {
	stem := strings.TrimSuffix(o.path, path.Ext(o.path))
	name := path.Base(stem)
	doc := ""
	switch o.g.language {
	case python:
		at := 0
		for _, gap := range o.gaps {
			if gap.end <= f.at.start && len(bytes.TrimSpace(o.source[at:gap.start])) == 0 {
				at = gap.end
			}
		}
		if len(bytes.TrimSpace(o.source[at:f.at.start])) > 0 {
			return
		}
		doc = plainDocstring(o.text(f.doc))
		if name == "__init__" {
			name = path.Base(path.Dir(stem))
		}
	case java:
		if name != "package-info" {
			return
		}
		f.outer = f.at
		name = strings.Trim(strings.TrimPrefix(o.text(f.at), "package"), " ;")
		doc = o.doc(f)
	}
	if doc != "" {
		o.addFile(name, f.at, []string{doc})
	}
}

// addFile adds the unit of a file that its comments describe.
func (o *outliner) addFile(name string, at span, doc []string) {
	if len(doc) > 0 {
		o.place(Unit{Type: moduleType, Name: name, QualifiedName: name, Signature: moduleType + " " + name, Doc: strings.Join(doc, "\n"), Text: strings.TrimSpace(o.text(at))}, at)
	}
}

// addHeadComment adds what comments of Rust say of the file that they begin ("//!").
func (o *outliner) addHeadComment() {
	at := span{}
	var doc []string
	for _, gap := range o.gaps {
		text := o.text(gap)
		inner := strings.HasPrefix(text, "//!") || strings.HasPrefix(text, "/*!")
		if len(bytes.TrimSpace(o.source[at.end:gap.start])) > 0 || !inner && len(doc) > 0 {
			break
		}
		at.end = gap.end
		if !inner {
			continue
		}
		if len(doc) == 0 {
			at.start = gap.start
		}
		doc = append(doc, plainComment(text))
	}
	name := path.Base(strings.TrimSuffix(o.path, path.Ext(o.path)))
	if slices.Contains([]string{"mod", "lib", "main"}, name) && path.Dir(o.path) != "." {
		name = path.Base(strings.TrimSuffix(path.Dir(o.path), "/src"))
	}
	o.addFile(name, at, doc)
}

// addFileComment adds what the comments at the head of a file say of it: those that belong to no unit, but for notices
// of copyright and what is meant for tools.
func (o *outliner) addFileComment(all []found) {
	first := len(o.source)
	for _, f := range all {
		if f.kind == "file" && o.g.language == python {
			return // its docstring says it
		}
		if f.kind != "scope" {
			first = min(first, f.outer.start)
			for _, own := range o.comments(f) {
				first = min(first, own.start)
			}
		}
	}
	var at, part span // what is taken, and what is read and not taken yet
	var doc, lines []string
	take := func() {
		text := strings.Join(lines, "\n")
		if len(lines) > 0 && saysSomething(text, o.text(part)) {
			if len(doc) == 0 {
				at.start = part.start
			}
			at.end = part.end
			doc = append(doc, text)
		}
		lines = nil
	}
	for _, gap := range o.gaps {
		between := o.source[min(part.end, gap.start):gap.start]
		code := len(bytes.TrimPrefix(bytes.TrimSpace(between), []byte("<?php"))) > 0
		if gap.start >= first || code || isAttribute(o.text(gap)) {
			break
		}
		if bytes.Count(between, []byte("\n")) > 1 {
			take()
		}
		if len(lines) == 0 {
			part.start = gap.start
		}
		lines = append(lines, plainComment(o.text(gap)))
		part.end = gap.end
	}
	take()
	o.addFile(path.Base(o.path), at, doc)
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
