package schemas

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	itemShape       = shapeFor[MemoryItem](false)
	linkedShape     = shapeFor[MemoryLinked](false)
	supersededShape = shapeFor[MemorySuperseded](false)
	accessedShape   = shapeFor[MemoryAccessed](false)
	erasedShape     = shapeFor[MemoryErased](false)
	requestShape    = shapeFor[ContextRequest](false)
	putShape        = shapeFor[PutRequest](false)
)

// DecodeMemoryItem reads an item and returns what is wrong with it: text that is not
// JSON or not UTF-8, unknown names, names given twice or in another case, wrong types,
// and everything Validate finds. The item is usable only when there are no issues.
func DecodeMemoryItem(data []byte) (MemoryItem, []Issue) {
	var m MemoryItem
	if issues := decode(data, itemShape, &m); len(issues) > 0 {
		return m, issues
	}
	return m, m.Validate()
}

// DecodeMemoryLinked reads the data of memory.linked, like DecodeMemoryItem.
func DecodeMemoryLinked(data []byte) (MemoryLinked, []Issue) {
	var v MemoryLinked
	if issues := decode(data, linkedShape, &v); len(issues) > 0 {
		return v, issues
	}
	return v, v.Validate()
}

// DecodeMemorySuperseded reads the data of memory.superseded, like DecodeMemoryItem.
func DecodeMemorySuperseded(data []byte) (MemorySuperseded, []Issue) {
	var v MemorySuperseded
	if issues := decode(data, supersededShape, &v); len(issues) > 0 {
		return v, issues
	}
	return v, v.Validate()
}

// DecodeMemoryAccessed reads the data of memory.accessed, like DecodeMemoryItem.
func DecodeMemoryAccessed(data []byte) (MemoryAccessed, []Issue) {
	var v MemoryAccessed
	if issues := decode(data, accessedShape, &v); len(issues) > 0 {
		return v, issues
	}
	return v, v.Validate()
}

// DecodeMemoryErased reads the data of memory.erased, like DecodeMemoryItem.
func DecodeMemoryErased(data []byte) (MemoryErased, []Issue) {
	var v MemoryErased
	if issues := decode(data, erasedShape, &v); len(issues) > 0 {
		return v, issues
	}
	return v, v.Validate()
}

// DecodeContextRequest reads a request, like DecodeMemoryItem. Names it does not
// know are refused in the payload and ignored in meta.
func DecodeContextRequest(data []byte) (ContextRequest, []Issue) {
	var v ContextRequest
	if issues := decode(data, requestShape, &v); len(issues) > 0 {
		return v, issues
	}
	return v, v.Validate()
}

// DecodePutRequest reads a put, like DecodeMemoryItem. The event inside is not looked at.
func DecodePutRequest(data []byte) (PutRequest, []Issue) {
	var v PutRequest
	if issues := decode(data, putShape, &v); len(issues) > 0 {
		return v, issues
	}
	return v, v.Validate()
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

// decode unmarshals data into v and compares its text with s. A text the decoder
// refuses is walked a second time so that every failing pointer is found at once.
func decode(data []byte, s *shape, v any) []Issue {
	if !utf8.Valid(data) {
		return []Issue{{Message: "is not valid UTF-8"}}
	}
	err := json.Unmarshal(data, v)
	if err == nil {
		return walkAt("", data, s)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return []Issue{{Message: "is not valid JSON at byte " + strconv.FormatInt(syntax.Offset, 10)}}
	}
	if issues := walkSlowly("", data, s); len(issues) > 0 {
		return issues
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return []Issue{{Pointer: "/" + strings.ReplaceAll(wrong.Field, ".", "/"), Message: "has the wrong type"}}
	}
	return []Issue{{Message: "does not fit this document"}}
}
