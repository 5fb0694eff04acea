package code

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"satchel/cmd/internal/importer/source"
	"satchel/cmd/internal/importer/source/code/treesitter"
)

// span is a half-open range of bytes; a zero span is none.
type span struct{ start, end int }

func (s span) isZero() bool       { return s.end == 0 }
func (s span) holds(in span) bool { return s.start <= in.start && in.end <= s.end && s != in }

// found is a unit or scope as a match describes it.
type found struct {
	kind            string
	at, outer       span
	name, body, doc span
	head            int    // end of the last
	end             int    // of a constant, without what stands behind it
	more            []span // names of constants that stand with it
}

// marks are what stands between and around units.
type marks struct {
	outer []span // around them
	gaps  []span // comments and attributes
	after []span // behind constants
}

// outline makes units of what a grammar's query captured in text.
func outline(path string, g grammar, text []byte, captures []treesitter.Capture) []Unit {
	all, m := gather(captures)
	for i := range all {
		all[i].outer = all[i].at
		for j := len(m.outer) - 1; j >= 0; j-- { // inner ones come last
			o, at := m.outer[j], all[i].outer
			if o.holds(at) && o.start < at.start && len(bytes.Trim(text[at.end:o.end], "; \t\r\n")) == 0 {
				all[i].outer = o
			}
		}
	}
	o := outliner{path: path, g: g, source: text, gaps: m.gaps}
	all = o.join(all, m.after)
	if g.language == treesitter.Rust {
		o.headComment()
	} else {
		o.fileComment(all)
	}
	var open []int // the found that hold the current one, outermost first
	for i := range all {
		for len(open) > 0 && !all[open[len(open)-1]].at.holds(all[i].at) {
			open = open[:len(open)-1]
		}
		inFunction := slices.ContainsFunc(open, func(j int) bool { return isFunction(all[j].kind) })
		if !inFunction {
			o.add(all, open, i)
		}
		open = append(open, i)
	}
	return o.units
}

func isFunction(kind string) bool { return kind == "function" || kind == "method" }

// gather sorts captures into units and scopes in order of their start, what stands
// around units, and comments and attributes.
func gather(captures []treesitter.Capture) (all []found, m marks) {
	flush := func(match []treesitter.Capture) {
		var f found
		for _, c := range match {
			at := span{c.Start, c.End}
			switch c.Name {
			case "name":
				f.name = at
			case "body":
				f.body = at
			case "doc":
				f.doc = at
			case "head":
				f.head = max(f.head, at.end)
			case "outer":
				m.outer = append(m.outer, at)
			case "comment", "attribute":
				m.gaps = append(m.gaps, at)
			case "after":
				m.after = append(m.after, at)
			default:
				f.kind, f.at = c.Name, at
			}
		}
		if f.kind != "" && (!f.name.isZero() || f.kind == "file") {
			all = append(all, f)
		}
	}
	for len(captures) > 0 {
		n := slices.IndexFunc(captures, func(c treesitter.Capture) bool { return c.Match != captures[0].Match })
		if n < 0 {
			n = len(captures)
		}
		flush(captures[:n])
		captures = captures[n:]
	}
	last := func(f found) int { // of two kinds at one place a constant is what is left
		if f.kind == constantType {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.at.start, b.at.start), cmp.Compare(b.at.end, a.at.end), cmp.Compare(last(a), last(b)), cmp.Compare(b.doc.end, a.doc.end))
	})
	all = slices.CompactFunc(all, func(a, b found) bool { return a.at == b.at })
	for _, list := range [][]span{m.outer, m.gaps, m.after} {
		slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	}
	return all, m
}

// outliner makes units.
type outliner struct {
	path   string
	g      grammar
	source []byte
	gaps   []span
	units  []Unit
}

// add makes the unit all[i], which the open ones hold.
func (o *outliner) add(all []found, open []int, i int) {
	f := all[i]
	if f.kind == "file" {
		o.module(f)
		return
	}
	if f.kind == "scope" || o.overload(f) || f.kind == constantType && o.skipped(all, open, f) {
		return
	}
	u := Unit{Path: o.path, Language: o.g.name, Type: f.kind, Name: o.name(f)}
	var parts []string
	inClass := false
	for _, j := range open {
		parts = append(parts, o.name(all[j]))
		if all[j].kind != "scope" {
			u.Parent, inClass = strings.Join(parts, o.g.joint), true
		} else if o.g.language == treesitter.Rust && !strings.HasPrefix(o.text(all[j].at), "mod") {
			u.Parent, inClass = strings.Join(parts, o.g.joint), true // an impl is part of its type
		}
	}
	u.QualifiedName = strings.Join(append(parts, u.Name), o.g.joint)
	if inClass && u.Type == "function" {
		u.Type = "method"
	}
	u.Signature, u.Doc = o.dedent(o.signature(f), f.outer.start), o.doc(f)
	if f.kind == constantType {
		u.Type, u.Signature = o.valueType(f), o.declared(f)
	}
	u.Text = o.dedent(o.body(all, i), f.outer.start)
	o.place(&u, f.outer)
	o.units = append(o.units, u)
}

// overload reports whether a Python function is a signature for type checkers alone; what
// is called has the same name and follows it.
func (o *outliner) overload(f found) bool {
	if o.g.language != treesitter.Python || !isFunction(f.kind) || strings.HasSuffix(o.path, ".pyi") {
		return false
	}
	for line := range strings.Lines(o.text(span{f.outer.start, f.at.start})) {
		line, _, _ = strings.Cut(line, "#")
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "@")
		if name = name[strings.LastIndexByte(name, '.')+1:]; ok && name == "overload" {
			return true
		}
	}
	return false
}

func (o *outliner) text(s span) string { return string(o.source[s.start:s.end]) }

// name is what the unit is called: without type arguments, and on one line.
func (o *outliner) name(f found) string {
	name := strings.Join(strings.Fields(o.text(f.name)), " ")
	if f.kind == "scope" {
		name, _, _ = strings.Cut(name, "<")
	}
	short, _ := source.Cut(name, 200)
	return short
}

// signature is the declaration up to its body.
func (o *outliner) signature(f found) string {
	from, to := f.at.start, f.at.end
	if o.g.language != treesitter.Python && o.g.language != treesitter.Rust {
		from = f.outer.start
	}
	switch {
	case o.g.language == treesitter.Python:
		to = max(f.head, f.name.end)
	case o.g.language == treesitter.Ruby: // comments may stand between it and the body
		if n := bytes.IndexByte(o.source[from:to], '\n'); n >= 0 {
			to = from + n
		}
	case !f.body.isZero() && f.body.start >= from:
		to = f.body.start
	}
	s := strings.TrimRight(o.text(span{from, to}), " \t\r\n{:;")
	if trimmed := strings.TrimSuffix(s, "=>"); trimmed != s {
		s = strings.TrimRight(trimmed, " \t\r\n")
	}
	return s
}

// doc is the docstring, or the comments right before the unit.
func (o *outliner) doc(f found) string {
	if !f.doc.isZero() {
		return docstring(o.text(f.doc))
	}
	var parts []string
	for _, gap := range o.comments(f) {
		if text := o.text(gap); !attribute(text) {
			parts = append(parts, comment(text))
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// comments are those right before a unit, and what else may stand among them.
func (o *outliner) comments(f found) []span {
	at := f.outer.start
	end := from(o.gaps, at)
	start := end
	for start > 0 {
		gap := o.gaps[start-1]
		between := o.source[min(gap.end, at):at]
		if gap.end > at || len(bytes.TrimSpace(between)) > 0 || bytes.Count(between, []byte("\n")) > 1 || o.trails(gap) {
			break
		}
		at = gap.start
		start--
	}
	return o.gaps[start:end]
}

// trails reports whether a comment stands behind code, on its line.
func (o *outliner) trails(gap span) bool {
	line := o.source[bytes.LastIndexByte(o.source[:gap.start], '\n')+1 : gap.start]
	return len(bytes.TrimSpace(line)) > 0
}

// body is the source of a unit, in which the bodies of the units it holds are left out, and
// where that is long, the comments before them, too: they are units themselves.
func (o *outliner) body(all []found, i int) string {
	f := all[i]
	if isFunction(f.kind) {
		return o.text(f.outer)
	}
	var b strings.Builder
	at := f.outer.start
	for j := i + 1; j < len(all) && all[j].at.start < f.at.end; j++ {
		in := all[j]
		if !isFunction(in.kind) || in.outer.start < at {
			continue
		}
		if before := o.comments(in); f.outer.end-f.outer.start > maxGroup && len(before) > 0 && before[0].start >= at {
			b.WriteString(o.text(span{at, before[0].start}))
			at = in.outer.start
		}
		if !in.body.isZero() && in.body.start >= at && in.body.end <= f.outer.end {
			b.WriteString(o.text(span{at, in.body.start}))
			b.WriteString("…")
			at = in.body.end
		}
	}
	b.WriteString(o.text(span{at, f.outer.end}))
	return b.String()
}

// dedent takes the indentation of the line on which a unit starts away from its others.
func (o *outliner) dedent(text string, start int) string {
	line := o.source[bytes.LastIndexByte(o.source[:start], '\n')+1 : start]
	if len(line) == 0 || len(bytes.TrimLeft(line, " \t")) > 0 {
		return text
	}
	return strings.ReplaceAll(text, "\n"+string(line), "\n")
}

// docstring removes the quotes and the indentation of a Python string.
func docstring(s string) string {
	s = strings.TrimLeft(s, "rRbBuUfF")
	for _, q := range []string{`"""`, "'''", `"`, "'"} {
		if len(s) >= 2*len(q) && strings.HasPrefix(s, q) && strings.HasSuffix(s, q) {
			s = s[len(q) : len(s)-len(q)]
			break
		}
	}
	return unindent(s)
}

// comment removes the marks of a comment in any of the languages.
func comment(s string) string {
	if inner, ok := strings.CutPrefix(s, "/*"); ok {
		s = strings.TrimLeft(strings.TrimSuffix(inner, "*/"), "*!")
		lines := strings.Split(s, "\n")
		for i, l := range lines {
			l = strings.TrimSpace(l)
			lines[i] = strings.TrimPrefix(strings.TrimPrefix(l, "*"), " ")
		}
		return strings.TrimSpace(strings.Join(lines, "\n"))
	}
	if inner, ok := strings.CutPrefix(s, "=begin"); ok { // Ruby
		return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "=end"))
	}
	for _, mark := range []string{"///", "//!", "//", "##", "#"} {
		if inner, ok := strings.CutPrefix(s, mark); ok {
			return strings.TrimRight(strings.TrimPrefix(inner, " "), " \t\r\n")
		}
	}
	return s
}

// unindent removes what all lines but the first begin with.
func unindent(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	margin := -1
	for _, l := range lines[1:] {
		if t := strings.TrimLeft(l, " \t"); t != "" && (margin < 0 || len(l)-len(t) < margin) {
			margin = len(l) - len(t)
		}
	}
	for i, l := range lines {
		if i > 0 && margin > 0 {
			l = l[min(margin, len(l)):]
		}
		lines[i] = strings.TrimRight(l, " \t")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
