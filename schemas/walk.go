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
	unfit   bool // a target did not take its value
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
	read := w.value(s, reflect.Value{})
	if !read || !w.ended() && len(w.issues) == 0 {
		w.issues = append(w.issues, Issue{Pointer: pointer, Message: "is not valid JSON at byte " + strconv.Itoa(w.pos)})
	}
	if w.more > 0 {
		w.issues = append(w.issues, moreIssues(pointer, w.more))
	}
	return w.issues
}

// walkIssues is how many issues a walk names; the others it counts.
const walkIssues = 4 * MaxProblems

func (w *walker) add(message string) {
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
			b.WriteString(escapePointer(unquote(w.data[s.from:s.to])))
		}
	}
	w.issues = append(w.issues, Issue{Pointer: b.String(), Message: message})
}

// value reads one value, sets it in to when that is valid, and reports whether the text was well formed.
func (w *walker) value(s *shape, to reflect.Value) bool {
	w.space()
	if w.pos >= len(w.data) {
		return false
	}
	if s.whole && to.IsValid() {
		return w.part(s, to)
	}
	first := w.data[w.pos]
	if want := s.refuses(first); want != "" {
		w.add(want)
		s, to = anyShape, reflect.Value{}
	}
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	switch first {
	case '{':
		return w.object(s, to)
	case '[':
		return w.array(s, to)
	case '"':
		return w.text(s, to)
	case 't':
		return w.word("true", true, to)
	case 'f':
		return w.word("false", false, to)
	case 'n':
		return w.word("null", false, reflect.Value{})
	}
	return w.number(s, to)
}

var anyShape = &shape{kind: shapeAny}

// refuses says what s wants instead of a value that starts with first, "" when it fits.
func (s *shape) refuses(first byte) string {
	if first == 'n' && s.kind != shapeAny {
		return "is null: leave the field out instead"
	}
	isNumber := first == '-' || isDigit(first)
	switch s.kind {
	case shapeString:
		return unless(first == '"', "must be a string")
	case shapeTime:
		return unless(first == '"', "must be a time like 2026-01-31T12:00:00Z (RFC 3339)")
	case shapeInt:
		return unless(isNumber, "must be a whole number")
	case shapeNumber:
		return unless(isNumber, "must be a number")
	case shapeBool:
		return unless(first == 't' || first == 'f', "must be true or false")
	case shapeArray:
		return unless(first == '[', "must be an array")
	case shapeObject, shapeMap:
		return unless(first == '{', "must be an object")
	case shapeContent:
		return unless(first == '"' || first == '{' || first == '[', "must be a string, an object or an array")
	case shapeLesson:
		return unless(first == '"' || first == '{', "must be a string or an object")
	}
	return ""
}

func unless(ok bool, message string) string {
	if ok {
		return ""
	}
	return message
}

func (w *walker) enter() bool {
	w.pos++
	w.depth++
	if w.depth == MaxNesting+1 {
		w.add("is nested deeper than " + strconv.Itoa(MaxNesting) + " levels")
	}
	return w.depth <= 4*MaxNesting
}

func (w *walker) array(s *shape, to reflect.Value) bool {
	if !w.enter() {
		return false
	}
	elem := anyShape
	if s.kind == shapeArray {
		elem = s.elem
	}
	for i := 0; ; i++ {
		if w.closes(']') {
			if i == 0 && to.IsValid() {
				to.Set(reflect.MakeSlice(to.Type(), 0, 0))
			}
			return true
		}
		if i > 0 && !w.char(',') {
			return false
		}
		w.path = append(w.path, segment{index: i})
		read := w.value(elem, element(to, i))
		w.path = w.path[:len(w.path)-1]
		if !read {
			return false
		}
	}
}

func (w *walker) object(s *shape, to reflect.Value) bool {
	if !w.enter() {
		return false
	}
	seen := seenNames{mark: len(w.names)}
	for i := 0; ; i++ {
		if w.closes('}') {
			w.names = w.names[:seen.mark]
			return true
		}
		if i > 0 && !w.char(',') {
			return false
		}
		w.space()
		name, ok := w.str()
		end := w.pos - 1
		if !ok || !w.char(':') {
			return false
		}
		w.path = append(w.path, segment{end - len(name), end, -1})
		inner, index := w.member(s, name, &seen)
		read := w.value(inner, field(to, index))
		w.path = w.path[:len(w.path)-1]
		if !read {
			return false
		}
	}
}

// closes steps over the end of an object or array when that is next.
func (w *walker) closes(end byte) bool {
	if !w.char(end) {
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

// repeated reports whether an unknown name was seen before, and remembers it.
func (w *walker) repeated(seen *seenNames, name []byte) bool {
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

// member checks one name of an object and returns the shape of its value, and which field of a struct that is for.
func (w *walker) member(s *shape, name []byte, seen *seenNames) (*shape, []int) {
	if w.escaped {
		name = []byte(unquote(name))
	}
	if s.kind == shapeObject {
		if i := s.field(name, seen.next); i >= 0 {
			if seen.known&(1<<i) != 0 {
				w.add(givenTwice)
			}
			seen.known |= 1 << i
			seen.next = i + 1
			return s.fields[i].shape, s.fields[i].index
		}
		if near := s.nearest(name); near != "" {
			w.add("is unknown: names are case-sensitive, write " + near)
		} else if !s.open {
			w.add("is not a field of this document")
		}
	}
	if w.refused(name) {
		w.add("is unknown, or in another spelling")
	}
	if w.repeated(seen, name) && !w.later {
		w.add(givenTwice)
	}
	if s.kind == shapeMap {
		return s.elem, nil
	}
	return anyShape, nil
}

// nearest returns the field that differs from name in case only, which encoding/json
// would silently take for it.
func (s *shape) nearest(name []byte) string {
	for i := range s.fields {
		if strings.EqualFold(s.fields[i].name, string(name)) {
			return s.fields[i].name
		}
	}
	return ""
}
