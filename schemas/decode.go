package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	itemShape       = withField(shapeFor[MemoryItem](false), "attributes", &shape{kind: shapeMap, elem: anyShape, whole: true, later: true})
	linkedShape     = shapeFor[MemoryLinked](false)
	supersededShape = shapeFor[MemorySuperseded](false)
	accessedShape   = shapeFor[MemoryAccessed](false)
	erasedShape     = shapeFor[MemoryErased](false)
	requestShape    = shapeFor[ContextRequest](false)
	putShape        = withField(shapeFor[PutRequest](false), "event", &shape{kind: shapeObject, open: true, whole: true, fields: []fieldShape{{name: "time", shape: &shape{kind: shapeTime}}}})
)

// DecodeMemoryItem reads an item and returns what is wrong with it: text that is not
// JSON or not UTF-8, unknown names, names given twice or in another case, wrong types,
// and everything Validate finds. The item is usable only when there are no issues;
// with issues it holds what could be read.
func DecodeMemoryItem(data []byte) (MemoryItem, []Issue) {
	return decodeDocument[MemoryItem](data, itemShape)
}

// DecodeMemoryLinked reads the data of memory.linked, like DecodeMemoryItem.
func DecodeMemoryLinked(data []byte) (MemoryLinked, []Issue) {
	return decodeDocument[MemoryLinked](data, linkedShape)
}

// DecodeMemorySuperseded reads the data of memory.superseded, like DecodeMemoryItem.
func DecodeMemorySuperseded(data []byte) (MemorySuperseded, []Issue) {
	return decodeDocument[MemorySuperseded](data, supersededShape)
}

// DecodeMemoryAccessed reads the data of memory.accessed, like DecodeMemoryItem.
func DecodeMemoryAccessed(data []byte) (MemoryAccessed, []Issue) {
	return decodeDocument[MemoryAccessed](data, accessedShape)
}

// DecodeMemoryErased reads the data of memory.erased, like DecodeMemoryItem.
func DecodeMemoryErased(data []byte) (MemoryErased, []Issue) {
	return decodeDocument[MemoryErased](data, erasedShape)
}

// DecodeContextRequest reads a request, like DecodeMemoryItem. Names it does not
// know are refused in the payload and ignored in meta.
func DecodeContextRequest(data []byte) (ContextRequest, []Issue) {
	return decodeDocument[ContextRequest](data, requestShape)
}

// DecodePutRequest reads a put, like DecodeMemoryItem. Of the event inside only its time is looked at.
func DecodePutRequest(data []byte) (PutRequest, []Issue) {
	return decodeDocument[PutRequest](data, putShape)
}

// UnmarshalMemoryItem reads an item that was validated when it was written. It is
// json.Unmarshal, several times as fast for what Satchel writes.
func UnmarshalMemoryItem(data []byte, m *MemoryItem) error {
	*m = MemoryItem{}
	if utf8.Valid(data) && fillDocument(data, itemShape, m) {
		return nil
	}
	*m = MemoryItem{}
	return json.Unmarshal(data, m)
}

// ValidateData checks data as the data of a memory event of eventType. An event type
// an agent may not publish is an issue at /type of the event, so its pointer is "".
func ValidateData(eventType string, data []byte) []Issue {
	var issues []Issue
	switch eventType {
	case TypeMemoryRecorded:
		_, issues = DecodeMemoryItem(data)
	case TypeMemoryLinked:
		_, issues = DecodeMemoryLinked(data)
	case TypeMemorySuperseded:
		_, issues = DecodeMemorySuperseded(data)
	case TypeMemoryAccessed:
		_, issues = DecodeMemoryAccessed(data)
	case TypeMemoryErased:
		_, issues = DecodeMemoryErased(data)
	default:
		return []Issue{{Message: "is not a memory event type"}}
	}
	return issues
}

// Repeated returns the names that a JSON document gives twice in one object, anywhere in it,
// of which a decoder would take one silently. Other faults are for who reads it.
func Repeated(data []byte) []Issue {
	var out []Issue
	for _, i := range runWalk("", data, anyShape, false) {
		if i.Message == givenTwice {
			out = append(out, i)
		}
	}
	return out
}

// ReadText returns what is wrong with a JSON document whatever it is for: text that is not UTF-8 or not
// JSON, names given twice, too deep a nesting.
func ReadText(data []byte) []Issue {
	if !utf8.Valid(data) {
		return []Issue{{Message: notUTF8}}
	}
	return runWalk("", data, anyShape, false)
}

const notUTF8 = "is not valid UTF-8"

// givenTwice is the message about a repeated name.
const givenTwice = "is given twice"

// validated is a pointer to a document that can check itself.
type validated[T any] interface {
	*T
	Validate() []Issue
}

// Decode reads any request of this package that has a Validate of its own, like
// DecodeMemoryItem. It builds the shape of T at each call; the documents of the hot
// path have functions of their own.
func Decode[T any, P validated[T]](data []byte) (T, []Issue) {
	return decodeDocument[T, P](data, shapeFor[T](false))
}

// DecodeText is Decode for a document that is right when its text is: it has no Validate.
func DecodeText[T any](data []byte) (T, []Issue) {
	v := new(T)
	issues := readDocument(data, shapeFor[T](false), v, func(*T) []Issue { return nil })
	return *v, issues
}

// decodeDocument is read for a document that can check itself.
func decodeDocument[T any, P validated[T]](data []byte, s *shape) (T, []Issue) {
	v := new(T)
	issues := readDocument(data, s, v, func(v *T) []Issue { return P(v).Validate() })
	return *v, issues
}

// readDocument reads data once into v, which is new, and compares its text with s. A text that fails is
// read again with the failing values taken out, so that every failing pointer is found at once.
func readDocument[T any](data []byte, s *shape, v *T, validate func(*T) []Issue) []Issue {
	if !utf8.Valid(data) {
		return []Issue{{Message: notUTF8}}
	}
	if fillDocument(data, s, v) {
		return validate(v)
	}
	*v = *new(T)
	err := json.Unmarshal(data, v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return []Issue{{Message: "is not valid JSON at byte " + strconv.FormatInt(syntax.Offset, 10)}}
	}
	issues := runWalk("", data, s, err != nil)
	if len(issues) == 0 {
		if err != nil {
			return []Issue{{Message: "does not fit this document"}}
		}
		return validate(v)
	}
	var rest T
	if named := issues[len(issues)-1].More == 0; !named || json.Unmarshal(takeOut(data, issues), &rest) != nil {
		return issues
	}
	*v = rest
	return append(issues, withoutCovered(validate(v), issues)...)
}

// withoutCovered returns the issues that are not about a value found wrong already,
// nor about something inside or around it.
func withoutCovered(issues, known []Issue) []Issue {
	if len(known) == 0 {
		return issues
	}
	return slices.DeleteFunc(issues, func(i Issue) bool {
		return slices.ContainsFunc(known, func(k Issue) bool {
			return strings.HasPrefix(i.Pointer+"/", k.Pointer+"/") || strings.HasPrefix(k.Pointer+"/", i.Pointer+"/")
		})
	})
}

// takeOut returns data with null in place of every value an issue points to, which
// a decoder skips.
func takeOut(data []byte, issues []Issue) []byte {
	var root any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&root) != nil {
		return data
	}
	for _, issue := range issues {
		setNull(&root, strings.Split(issue.Pointer, "/")[1:])
	}
	out, err := json.Marshal(root)
	if err != nil {
		return data
	}
	return out
}

func setNull(v *any, path []string) {
	if len(path) == 0 {
		*v = nil
		return
	}
	name := strings.ReplaceAll(strings.ReplaceAll(path[0], "~1", "/"), "~0", "~")
	switch x := (*v).(type) {
	case map[string]any:
		child, ok := x[name]
		if ok {
			setNull(&child, path[1:])
			x[name] = child
		}
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(x) {
			setNull(&x[i], path[1:])
		}
	}
}
