package code

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"satchel/cmd/internal/importer/source"
)

// span is a half-open range of bytes; a zero span is none.
type span struct{ start, end int }

func (s span) isZero() bool       { return s.end == 0 }
func (s span) size() int          { return s.end - s.start }
func (s span) holds(in span) bool { return s.start <= in.start && in.end <= s.end && s != in }

// found is a unit or scope as a match describes it.
type found struct {
	kind            string
	at, outer       span
	name, body, doc span
	head            int    // end of the last
	end             int    // of a constant, without what follows it
	more            []span // names of the constants that are one unit with it
}

// marks are what is between and around units.
type marks struct {
	outer []span // around them
	gaps  []span // comments and attributes
	after []span // behind constants
}

// outlineUnits makes units of what a grammar's query captured in text.
func outlineUnits(path string, g *grammar, text []byte, captures []capture) []Unit {
	all, m := gatherCaptures(captures)
	for i := range all {
		all[i].outer = all[i].at
		for _, o := range slices.Backward(m.outer) { // inner ones come last
			at := all[i].outer
			if o.start < at.start && o.holds(at) && len(bytes.Trim(text[at.end:o.end], "; \t\r\n")) == 0 {
				all[i].outer = o
			}
		}
	}
	o := outliner{path: path, g: g, source: text, gaps: m.gaps}
	all = o.joinConstants(all, m.after)
	if g.language == rust {
		o.addHeadComment()
	} else {
		o.addFileComment(all)
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

// gatherCaptures sorts captures into units and scopes in order of their start, what is around units, and comments and
// attributes.
func gatherCaptures(captures []capture) (all []found, m marks) {
	for i, c := range captures {
		if i == 0 || c.Match != captures[i-1].Match {
			all = append(all, found{})
		}
		f := &all[len(all)-1]
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
			f.kind = c.Name
			f.at = at
		}
	}
	all = slices.DeleteFunc(all, func(f found) bool { return f.kind == "" || f.name.isZero() && f.kind != "file" })
	last := map[string]int{constantType: 1} // of two kinds at one place a constant is what is left
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.at.start, b.at.start), cmp.Compare(b.at.end, a.at.end), cmp.Compare(last[a.kind], last[b.kind]), cmp.Compare(b.doc.end, a.doc.end))
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
	g      *grammar
	source []byte
	gaps   []span
	units  []Unit
}

// add makes the unit all[i], which the open ones hold.
func (o *outliner) add(all []found, open []int, i int) {
	f := all[i]
	switch {
	case f.kind == "file":
		o.addModule(f)
		return
	case f.kind == "scope", f.kind == constantType && o.isNoUnit(all, open, f), o.isOverload(f):
		return
	}
	u := Unit{Type: f.kind, Name: o.name(f)}
	var parts []string
	for _, j := range open {
		parts = append(parts, o.name(all[j]))
		isImpl := o.g.language == rust && !bytes.HasPrefix(o.source[all[j].at.start:], []byte("mod")) // a part of its type
		if all[j].kind != "scope" || isImpl {
			u.Parent = strings.Join(parts, o.g.joint)
		}
	}
	u.QualifiedName = strings.Join(append(parts, u.Name), o.g.joint)
	if u.Parent != "" && u.Type == "function" {
		u.Type = "method"
	}
	u.Signature = o.dedent(o.signature(f), f.outer.start)
	if f.kind == constantType {
		u.Type = o.valueType(f)
		u.Signature = o.declared(f)
	}
	u.Doc = o.doc(f)
	u.Text = o.dedent(o.body(all, i), f.outer.start)
	o.place(u, f.outer)
}

// place adds a unit, whose lines are those of a part of the file.
func (o *outliner) place(u Unit, at span) {
	u.Path = o.path
	u.Language = o.g.name
	u.StartLine = 1 + bytes.Count(o.source[:at.start], []byte("\n"))
	u.EndLine = u.StartLine + strings.Count(strings.TrimRight(o.text(at), "\n"), "\n")
	o.units = append(o.units, u)
}

// isOverload reports whether a Python function is a signature for type checkers alone; what is called has the same name
// and follows it.
func (o *outliner) isOverload(f found) bool {
	if o.g.language != python || !isFunction(f.kind) || strings.HasSuffix(o.path, ".pyi") {
		return false
	}
	for line := range strings.Lines(o.text(span{f.outer.start, f.at.start})) {
		line, _, _ = strings.Cut(line, "#")
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "@")
		if ok && name[strings.LastIndexByte(name, '.')+1:] == "overload" {
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
	at := f.at
	if o.g.language != python && o.g.language != rust {
		at.start = f.outer.start
	}
	switch {
	case o.g.language == python:
		at.end = max(f.head, f.name.end)
	case o.g.language == ruby: // there may be comments between it and the body
		if n := bytes.IndexByte(o.source[at.start:at.end], '\n'); n >= 0 {
			at.end = at.start + n
		}
	case !f.body.isZero() && f.body.start >= at.start:
		at.end = f.body.start
	}
	s := strings.TrimRight(o.text(at), " \t\r\n{:;")
	if arrow, ok := strings.CutSuffix(s, "=>"); ok {
		return strings.TrimRight(arrow, " \t\r\n")
	}
	return s
}

// doc is the docstring, or the comments right before the unit.
func (o *outliner) doc(f found) string {
	if !f.doc.isZero() {
		return plainDocstring(o.text(f.doc))
	}
	var parts []string
	for _, gap := range o.comments(f) {
		if text := o.text(gap); !isAttribute(text) {
			parts = append(parts, plainComment(text))
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// comments are those right before a unit, and what else may be among them.
func (o *outliner) comments(f found) []span {
	at := f.outer.start
	end := firstFrom(o.gaps, at)
	start := end
	for start > 0 {
		gap := o.gaps[start-1]
		between := o.source[min(gap.end, at):at]
		apart := len(bytes.TrimSpace(between)) > 0 || bytes.Count(between, []byte("\n")) > 1
		if gap.end > at || apart || len(bytes.TrimSpace(o.lineBefore(gap.start))) > 0 { // it may be of the code before it on its line
			break
		}
		at = gap.start
		start--
	}
	return o.gaps[start:end]
}

// lineBefore is what is before a place on its line.
func (o *outliner) lineBefore(at int) []byte {
	return o.source[bytes.LastIndexByte(o.source[:at], '\n')+1 : at]
}

// body is the source of a unit, in which the bodies of the units it holds are left out, and where that is long, the
// comments before them, too: they are units themselves.
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
		if before := o.comments(in); f.outer.size() > maxGroup && len(before) > 0 && before[0].start >= at {
			b.WriteString(o.text(span{at, before[0].start}))
			at = in.outer.start
		}
		if in.body.start >= at && in.body.end <= f.outer.end && !in.body.isZero() {
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
	line := o.lineBefore(start)
	if len(line) == 0 || len(bytes.TrimLeft(line, " \t")) > 0 {
		return text
	}
	return strings.ReplaceAll(text, "\n"+string(line), "\n")
}

// plainDocstring removes the quotes and the indentation of a Python string.
func plainDocstring(s string) string {
	s = strings.TrimLeft(s, "rRbBuUfF")
	for _, q := range []string{`"""`, "'''", `"`, "'"} {
		if len(s) >= 2*len(q) && strings.HasPrefix(s, q) && strings.HasSuffix(s, q) {
			s = s[len(q) : len(s)-len(q)]
			break
		}
	}
	return unindentLines(s)
}

// plainComment removes the marks of a comment in any of the languages.
func plainComment(s string) string {
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

// unindentLines removes what all lines but the first begin with.
func unindentLines(s string) string {
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
