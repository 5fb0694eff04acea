package schemas

import (
	"errors"
	"reflect"
	"slices"
)

// CheckNames holds data to what encoding/json lets through, which takes the last of several
// members of one name and any spelling for a struct's field. It returns an error unless data
// is one JSON value of at most MaxNesting levels, no object anywhere in it has two members
// of one name and, where names are given, every member has one of these, spelt exactly so.
// The error names nothing of data.
func CheckNames(data []byte, names ...string) error {
	var segments [4]segment
	w := walker{data: data, path: segments[:0], only: names}
	if !w.readValue(anyShape, reflect.Value{}) || !w.atEnd() {
		return errors.New("it is not JSON, or nested too deep")
	}
	if len(w.issues) > 0 {
		return errors.New("a member " + w.issues[0].Message)
	}
	return nil
}

// ItemFields returns the names of a memory item's fields.
func ItemFields() []string { return itemShape.fieldNames() }

// ExperienceFields returns the names of the attributes of an experience.
func ExperienceFields() []string { return attributeChecks[KindExperience].shape.fieldNames() }

func (s *shape) fieldNames() []string {
	names := make([]string, len(s.fields))
	for i := range s.fields {
		names[i] = s.fields[i].name
	}
	return names
}

// isRefused reports whether only some names are allowed and this is not one.
func (w *walker) isRefused(name []byte) bool {
	return len(w.only) > 0 && !slices.Contains(w.only, string(name))
}
