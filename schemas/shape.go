package schemas

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

type shapeKind uint8

const (
	shapeAny shapeKind = iota
	shapeString
	shapeTime
	shapeInt
	shapeNumber
	shapeBool
	shapeArray
	shapeObject  // fields, and others when open
	shapeMap     // any names, every value of shape elem
	shapeContent // string, object or array
	shapeLesson  // string or object
)

// shape is what JSON a Go type accepts: the exact names and the JSON types.
// Shapes are built once and never change.
type shape struct {
	kind   shapeKind
	fields []fieldShape
	elem   *shape
	open   bool // an object with names beyond fields
	whole  bool // encoding/json sets the value, or that is its text
	later  bool // Validate looks into the value
}

type fieldShape struct {
	name  string
	shape *shape
	index []int // of the field in its struct
}

// objectShape is any object.
var objectShape = &shape{kind: shapeMap, elem: anyShape}

// shapeFor returns the shape of T. With open, names beyond T's fields are allowed.
func shapeFor[T any](open bool) *shape {
	s := shapeOf(reflect.TypeFor[T]())
	s.open = open
	return s
}

func shapeOf(t reflect.Type) *shape {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &shape{kind: shapeTime}
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[ErasureReceipt]():
		return &shape{kind: shapeMap, elem: anyShape, whole: true}
	case reflect.TypeFor[Content]():
		return &shape{kind: shapeContent, whole: true}
	case reflect.TypeFor[Lesson]():
		return &shape{kind: shapeLesson, whole: true}
	case reflect.TypeFor[Level]():
		return &shape{kind: shapeString, whole: true}
	}
	s := shapeOfKind(t)
	to := reflect.PointerTo(t)
	s.whole = s.whole || to.Implements(reflect.TypeFor[json.Unmarshaler]()) || to.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	return s
}

func shapeOfKind(t reflect.Type) *shape {
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem())
	case reflect.String:
		return &shape{kind: shapeString}
	case reflect.Bool:
		return &shape{kind: shapeBool}
	case reflect.Float32, reflect.Float64:
		return &shape{kind: shapeNumber}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return &shape{kind: shapeInt}
	case reflect.Slice:
		return &shape{kind: shapeArray, elem: shapeOf(t.Elem()), whole: t.Elem().Kind() == reflect.Uint8}
	case reflect.Map:
		return &shape{kind: shapeMap, elem: shapeOf(t.Elem()), whole: true}
	case reflect.Struct:
		return structShape(t)
	}
	return &shape{kind: shapeAny, whole: true}
}

// structShape returns the shape of a struct. The envelope's head may carry names of its own (other A2A
// agents put theirs there), everything else is closed.
func structShape(t reflect.Type) *shape {
	s := &shape{kind: shapeObject, open: t == reflect.TypeFor[Meta]() || t == reflect.TypeFor[Agent]()}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			for _, inner := range structShape(f.Type).fields {
				inner.index = slices.Concat(f.Index, inner.index)
				s.fields = append(s.fields, inner)
			}
			continue
		}
		if f.IsExported() && name != "" && name != "-" {
			s.fields = append(s.fields, fieldShape{name: name, shape: shapeOf(f.Type), index: f.Index})
		}
	}
	return s
}

// withField gives a field of s another shape.
func withField(s *shape, name string, other *shape) *shape {
	s.fields[s.fieldIndex([]byte(name), 0)].shape = other
	return s
}

// fieldIndex returns the index of name, -1 when there is none. It looks from a field on first.
func (s *shape) fieldIndex(name []byte, from int) int {
	for i := from; i < len(s.fields); i++ {
		if s.fields[i].name == string(name) {
			return i
		}
	}
	for i := range min(from, len(s.fields)) {
		if s.fields[i].name == string(name) {
			return i
		}
	}
	return -1
}
