package schemas

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// walker reads JSON text strictly and compares it with a shape: unknown and repeated names,
// wrong types, nulls, too deep a nesting. It says where it stopped for text that is not JSON.
// Values that have a target are set there (fill.go).
type walker struct {
	data    []byte
	pos     int
	depth   int
	slow    bool // also check what a decoder would refuse: dates and number ranges
	later   bool // in a part that Validate looks into: names may repeat, numbers may be too large
	fills   bool // the first issue is enough, and is not named
	unfit   bool // there is one, or a target did not take its value
	escaped bool // the last string has escapes
	root    string
	only    []string // the names that a member may have; none: any
	path    []segment
	names   [][]byte // names seen in open objects, innermost last
	issues  []Issue
	more    int // issues that are counted alone
}

// segment is one step of a pointer: the name between two places of the text, or else an index.
type segment struct {
	from, to int
	index    int // -1 for a name
}

// walkAt compares raw, which stands at pointer, with s.
func walkAt(pointer string, raw []byte, s *shape) []Issue { return runWalk(pointer, raw, s, false) }

// walkSlowly is walkAt plus dates and number ranges, for text a decoder refused.
func walkSlowly(pointer string, raw []byte, s *shape) []Issue { return runWalk(pointer, raw, s, true) }

func runWalk(pointer string, raw []byte, s *shape, slow bool) []Issue {
	var segments [4]segment
	w := walker{data: raw, root: pointer, slow: slow, path: segments[:0]}
	read := w.readValue(s, reflect.Value{})
	if !read || !w.atEnd() && len(w.issues) == 0 {
		w.issues = append(w.issues, Issue{Pointer: pointer, Message: "is not valid JSON at byte " + strconv.Itoa(w.pos)})
	}
	if w.more > 0 {
		w.issues = append(w.issues, moreIssues(pointer, w.more))
	}
	return w.issues
}

func (w *walker) pushStep(s segment) {
	if !w.fills {
		w.path = append(w.path, s)
	}
}

func (w *walker) popStep() {
	if !w.fills {
		w.path = w.path[:len(w.path)-1]
	}
}

// walkIssues is how many issues a walk names; the others it counts.
const walkIssues = 4 * MaxProblems

func (w *walker) addIssue(message string) {
	if w.fills {
		w.unfit = true
		return
	}
	if len(w.issues) >= walkIssues {
		w.more++
		return
	}
	var b strings.Builder
	b.WriteString(w.root)
	for _, s := range w.path {
		b.WriteByte('/')
		if s.index >= 0 {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(escapePointer(unquoteText(w.data[s.from:s.to])))
		}
	}
	w.issues = append(w.issues, Issue{Pointer: b.String(), Message: message})
}

// readValue reads one value, sets it in to when that is valid, and reports whether the text was well formed.
func (w *walker) readValue(s *shape, to reflect.Value) bool {
	w.skipSpace()
	if w.pos >= len(w.data) {
		return false
	}
	if s.whole && to.IsValid() {
		return w.readPart(s, to)
	}
	first := w.data[w.pos]
	if want := s.refusesFirst(first); want != "" {
		w.addIssue(want)
		s = anyShape
		to = reflect.Value{}
	}
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	switch first {
	case '{':
		return w.readObject(s, to)
	case '[':
		return w.readArray(s, to)
	case '"':
		return w.readText(s, to)
	case 't':
		return w.readWord("true", true, to)
	case 'f':
		return w.readWord("false", false, to)
	case 'n':
		return w.readWord("null", false, reflect.Value{})
	}
	return w.readNumber(s, to)
}

var anyShape = &shape{kind: shapeAny}

// wanted says by kind what a value may begin with, and what it must be. It is only read.
var wanted = [...]struct{ first, message string }{
	shapeString:  {`"`, "must be a string"},
	shapeTime:    {`"`, "must be a time like 2026-01-31T12:00:00Z (RFC 3339)"},
	shapeInt:     {"-0123456789", "must be a whole number"},
	shapeNumber:  {"-0123456789", "must be a number"},
	shapeBool:    {"tf", "must be true or false"},
	shapeArray:   {"[", "must be an array"},
	shapeObject:  {"{", "must be an object"},
	shapeMap:     {"{", "must be an object"},
	shapeContent: {`"{[`, "must be a string, an object or an array"},
	shapeLesson:  {`"{`, "must be a string or an object"},
}

// refusesFirst says what s wants instead of a value that starts with first, "" when it fits.
func (s *shape) refusesFirst(first byte) string {
	if s.kind == shapeAny {
		return ""
	}
	if first == 'n' {
		return "is null: leave the field out instead"
	}
	want := &wanted[s.kind]
	return messageUnless(strings.IndexByte(want.first, first) >= 0, want.message)
}

func messageUnless(ok bool, message string) string {
	if ok {
		return ""
	}
	return message
}

func (w *walker) stepIn() bool {
	w.pos++
	w.depth++
	if w.depth == MaxNesting+1 {
		w.addIssue("is nested deeper than " + strconv.Itoa(MaxNesting) + " levels")
	}
	return w.depth <= 4*MaxNesting
}

func (w *walker) readArray(s *shape, to reflect.Value) bool {
	if !w.stepIn() {
		return false
	}
	elem := anyShape
	if s.kind == shapeArray {
		elem = s.elem
	}
	for i := 0; ; i++ {
		if w.stepOut(']') {
			if i == 0 && to.IsValid() {
				to.Set(reflect.MakeSlice(to.Type(), 0, 0))
			}
			return true
		}
		if i > 0 && !w.readChar(',') {
			return false
		}
		w.pushStep(segment{index: i})
		read := w.readValue(elem, nextElement(to, i))
		w.popStep()
		if !read {
			return false
		}
	}
}

func (w *walker) readObject(s *shape, to reflect.Value) bool {
	if !w.stepIn() {
		return false
	}
	seen := seenNames{mark: len(w.names)}
	for i := 0; ; i++ {
		if w.stepOut('}') {
			w.names = w.names[:seen.mark]
			return true
		}
		if i > 0 && !w.readChar(',') {
			return false
		}
		w.skipSpace()
		name, ok := w.readString()
		end := w.pos - 1
		if !ok || !w.readChar(':') {
			return false
		}
		w.pushStep(segment{end - len(name), end, -1})
		inner, index := w.findMember(s, name, &seen)
		read := w.readValue(inner, fieldOf(to, index))
		w.popStep()
		if !read {
			return false
		}
	}
}

// stepOut steps over the end of an object or array when that is next.
func (w *walker) stepOut(end byte) bool {
	if !w.readChar(end) {
		return false
	}
	w.depth--
	return true
}

// seenNames are the names one object has had so far: known fields as bits, the others
// in walker.names from mark on, and in wide once they are many.
type seenNames struct {
	known uint64
	next  int // field that is likely next: documents have the order of their type
	mark  int
	wide  map[string]struct{}
}

// seenBefore reports whether an unknown name was seen before, and remembers it.
func (w *walker) seenBefore(seen *seenNames, name []byte) bool {
	const narrow = 32
	if seen.wide != nil {
		_, again := seen.wide[string(name)]
		seen.wide[string(name)] = struct{}{}
		return again
	}
	if slices.ContainsFunc(w.names[seen.mark:], func(n []byte) bool { return bytes.Equal(n, name) }) {
		return true
	}
	w.names = append(w.names, name)
	if len(w.names)-seen.mark > narrow {
		seen.wide = make(map[string]struct{}, 4*narrow)
		for _, n := range w.names[seen.mark:] {
			seen.wide[string(n)] = struct{}{}
		}
		w.names = w.names[:seen.mark]
	}
	return false
}

// findMember checks one name of an object and returns the shape of its value, and which field of a struct that is for.
func (w *walker) findMember(s *shape, name []byte, seen *seenNames) (*shape, []int) {
	if w.escaped {
		name = []byte(unquoteText(name))
	}
	if s.kind == shapeObject {
		if i := s.fieldIndex(name, seen.next); i >= 0 {
			if seen.known&(1<<i) != 0 {
				w.addIssue(givenTwice)
			}
			seen.known |= 1 << i
			seen.next = i + 1
			return s.fields[i].shape, s.fields[i].index
		}
		if near := s.nearestName(name); near != "" {
			w.addIssue("is unknown: names are case-sensitive, write " + near)
		} else if !s.open {
			w.addIssue("is not a field of this document")
		}
	}
	if w.isRefused(name) {
		w.addIssue("is unknown, or in another spelling")
	}
	if w.seenBefore(seen, name) && !w.later {
		w.addIssue(givenTwice)
	}
	if s.kind == shapeMap {
		return s.elem, nil
	}
	return anyShape, nil
}

// nearestName returns the field that differs from name in case only, which encoding/json
// would silently take for it.
func (s *shape) nearestName(name []byte) string {
	for i := range s.fields {
		if strings.EqualFold(s.fields[i].name, string(name)) {
			return s.fields[i].name
		}
	}
	return ""
}
