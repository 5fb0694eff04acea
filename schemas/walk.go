package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// walker compares JSON text with a shape: unknown and repeated names, wrong types,
// nulls, too deep a nesting. It says where it stopped for text that is not JSON.
type walker struct {
	data   []byte
	pos    int
	depth  int
	slow   bool // also check what a decoder would refuse: dates and number ranges
	root   string
	only   []string // the names that a member may have; none: any
	path   []segment
	names  [][]byte // names seen in open objects, innermost last
	issues []Issue
	more   int // issues that are counted alone
}

type segment struct {
	name  []byte // nil for an element
	index int
}

// walkAt compares raw, which stands at pointer, with s.
func walkAt(pointer string, raw []byte, s *shape) []Issue { return runWalk(pointer, raw, s, false) }

// walkSlowly is walkAt plus dates and number ranges, for text a decoder refused.
func walkSlowly(pointer string, raw []byte, s *shape) []Issue { return runWalk(pointer, raw, s, true) }

func runWalk(pointer string, raw []byte, s *shape, slow bool) []Issue {
	var segments [16]segment
	w := walker{data: raw, root: pointer, slow: slow, path: segments[:0]}
	ok := w.value(s)
	if w.space(); !ok || w.pos != len(raw) {
		if len(w.issues) == 0 || !ok {
			w.issues = append(w.issues, Issue{Pointer: pointer, Message: "is not valid JSON at byte " + strconv.Itoa(w.pos)})
		}
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
		if s.name == nil {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(escapePointer(unquoteName(s.name)))
		}
	}
	w.issues = append(w.issues, Issue{Pointer: b.String(), Message: message})
}

func (w *walker) space() {
	for w.pos < len(w.data) {
		switch w.data[w.pos] {
		case ' ', '\t', '\r', '\n':
			w.pos++
		default:
			return
		}
	}
}

// value reads one value and reports whether the text was well formed.
func (w *walker) value(s *shape) bool {
	w.space()
	if w.pos >= len(w.data) {
		return false
	}
	first := w.data[w.pos]
	if want := s.refuses(first); want != "" {
		w.add(want)
		s = anyShape
	}
	switch first {
	case '{':
		return w.object(s)
	case '[':
		return w.array(s)
	case '"':
		raw, ok := w.str()
		if ok && s.kind == shapeTime && (!strictTime(raw) || w.slow && !validTime(raw)) {
			w.add(errTime.Error())
		}
		return ok
	case 't':
		return w.word("true")
	case 'f':
		return w.word("false")
	case 'n':
		return w.word("null")
	}
	return w.number(s)
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

func (w *walker) array(s *shape) bool {
	if !w.enter() {
		return false
	}
	elem := anyShape
	if s.kind == shapeArray {
		elem = s.elem
	}
	for i := 0; ; i++ {
		w.space()
		if w.pos < len(w.data) && w.data[w.pos] == ']' {
			w.pos, w.depth = w.pos+1, w.depth-1
			return true
		}
		if i > 0 && !w.char(',') {
			return false
		}
		w.path = append(w.path, segment{index: i})
		ok := w.value(elem)
		w.path = w.path[:len(w.path)-1]
		if !ok {
			return false
		}
	}
}

func (w *walker) object(s *shape) bool {
	if !w.enter() {
		return false
	}
	seen := seenNames{mark: len(w.names)}
	for i := 0; ; i++ {
		w.space()
		if w.pos < len(w.data) && w.data[w.pos] == '}' {
			w.pos, w.depth, w.names = w.pos+1, w.depth-1, w.names[:seen.mark]
			return true
		}
		if i > 0 && !w.char(',') {
			return false
		}
		w.space()
		name, ok := w.str()
		if !ok || !w.char(':') {
			return false
		}
		w.path = append(w.path, segment{name: name})
		ok = w.value(w.member(s, name, &seen))
		w.path = w.path[:len(w.path)-1]
		if !ok {
			return false
		}
	}
}

// seenNames are the names one object has had so far: known fields as bits, the others
// in walker.names from mark on, and in wide once they are many.
type seenNames struct {
	known uint64
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

// member checks one name of an object and returns the shape of its value.
func (w *walker) member(s *shape, name []byte, seen *seenNames) *shape {
	plain := name
	if bytes.IndexByte(name, '\\') >= 0 {
		plain = []byte(unquoteName(name))
	}
	if s.kind == shapeObject {
		if i := s.field(plain); i >= 0 {
			if seen.known&(1<<i) != 0 {
				w.add(givenTwice)
			}
			seen.known |= 1 << i
			return s.fields[i].shape
		}
		if !s.open {
			w.add(s.unknown(plain))
		} else if near := s.nearest(plain); near != "" {
			w.add("is unknown: names are case-sensitive, write " + near)
		}
	}
	if w.refused(plain) {
		w.add("is unknown, or in another spelling")
	}
	if w.repeated(seen, plain) {
		w.add(givenTwice)
	}
	if s.kind == shapeMap {
		return s.elem
	}
	return anyShape
}

func (s *shape) unknown(name []byte) string {
	if near := s.nearest(name); near != "" {
		return "is unknown: names are case-sensitive, write " + near
	}
	return "is not a field of this document"
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

func (w *walker) char(want byte) bool {
	w.space()
	if w.pos >= len(w.data) || w.data[w.pos] != want {
		return false
	}
	w.pos++
	return true
}

func (w *walker) word(want string) bool {
	if !bytes.HasPrefix(w.data[w.pos:], []byte(want)) {
		return false
	}
	w.pos += len(want)
	return true
}

// str reads a string and returns what stands between its quotes, escapes included.
func (w *walker) str() ([]byte, bool) {
	if w.pos >= len(w.data) || w.data[w.pos] != '"' {
		return nil, false
	}
	start := w.pos + 1
	for i := start; ; i++ {
		next := bytes.IndexByte(w.data[i:], '"')
		if next < 0 {
			return nil, false
		}
		i += next
		slashes := 0
		for i-1-slashes >= start && w.data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			w.pos = i + 1
			return w.data[start:i], true
		}
	}
}

func (w *walker) number(s *shape) bool {
	start, whole := w.pos, true
	for w.pos < len(w.data) {
		c := w.data[w.pos]
		if c == '.' || c == 'e' || c == 'E' {
			whole = false
		} else if !isDigit(c) && c != '-' && c != '+' {
			break
		}
		w.pos++
	}
	if w.pos == start {
		return false
	}
	text := w.data[start:w.pos]
	switch {
	case s.kind == shapeInt && !whole:
		w.add("must be a whole number")
	case s.kind == shapeInt && w.slow:
		if _, err := strconv.ParseInt(string(text), 10, 64); err != nil {
			w.add("is out of range")
		}
	case (w.slow || s.kind == shapeAny) && !fitsFloat(text):
		w.add("is out of the range of a 64-bit float: write it as a string")
	}
	return true
}

// fitsFloat reports whether a 64-bit float holds a number, perhaps rounded. Readers in other languages fail on one that it
// does not hold.
func fitsFloat(text []byte) bool {
	const always = 308 // digits
	if len(text) <= always && !bytes.ContainsAny(text, "eE") {
		return true
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return !errors.Is(err, strconv.ErrRange)
}

func validTime(raw []byte) bool {
	_, err := ParseTime(string(raw))
	return err == nil
}

func unquoteName(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	var s string
	if json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &s) != nil {
		return string(raw)
	}
	return s
}
