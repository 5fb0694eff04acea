package pii

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"satchel/schemas"
)

// errPath is returned for a JSON path that is not of the form that redaction knows.
var errPath = errors.New("not a JSON path of the form $.content, $.content.a.b, $.content.list[0] or $.content.list[*]")

// step is one step of a JSON path: a member name, an index, or every element.
type step struct {
	name  string
	index int
	kind  stepKind
}

type stepKind int

const (
	stepMember stepKind = iota
	stepIndex
	stepEvery
)

// Redact replaces what the JSON paths name in the content by what mask has for it. It
// fails closed: a path it cannot follow into the content (a member of a text, a path it
// cannot parse) replaces the whole content; a member that is absent needs no redaction. A
// path into another field of the item than its content leaves the content alone.
func Redact(c schemas.Content, paths []string, mask Mask) schemas.Content {
	if len(paths) == 0 {
		return c
	}
	whole := func() schemas.Content { return schemas.TextContent(mask(Field, c.Text())) }
	var tree any
	parsed := false
	for _, path := range paths {
		steps, err := parsePath(path)
		switch {
		case err != nil || len(steps) == 0:
			return whole()
		case steps[0].kind == stepMember && otherField(steps[0].name):
			continue
		case steps[0].kind != stepMember || steps[0].name != "content" || len(steps) == 1 || c.Raw() == nil:
			return whole()
		}
		if !parsed {
			if tree, parsed = decode(c.Raw()); !parsed {
				return whole()
			}
		}
		tree = remove(tree, steps[1:], mask)
	}
	if !parsed {
		return c
	}
	raw, err := encode(tree)
	if err != nil {
		return whole()
	}
	return schemas.JSONContent(raw)
}

// otherField reports whether name is a top-level field of an item that is not its
// content. A name that is no field at all is not one: such a path fails closed.
func otherField(name string) bool {
	switch name {
	case "id", "type", "kind", "scope", "created_at", "updated_at", "ttl", "decay_fn", "confidence", "importance",
		"trust", "sensitivity", "novelty", "provenance", "security_label", "pii_flags", "embedding_ref", "graph_refs",
		"summary", "category", "session", "seq", "speaker", "role", "valid_from", "valid_to", "links", "signer", "attributes":
		return true
	}
	return false
}

func decode(raw json.RawMessage) (any, bool) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err == nil
}

// remove replaces what steps name by its mask.
func remove(v any, steps []step, mask Mask) any {
	if len(steps) == 0 {
		return maskValue(v, mask)
	}
	head, rest := steps[0], steps[1:]
	switch x := v.(type) {
	case map[string]any:
		switch head.kind {
		case stepMember:
			if child, ok := x[head.name]; ok {
				x[head.name] = remove(child, rest, mask)
			}
		case stepEvery:
			for name, child := range x {
				x[name] = remove(child, rest, mask)
			}
		case stepIndex:
			return maskValue(v, mask)
		}
		return x
	case []any:
		switch head.kind {
		case stepIndex:
			if head.index < len(x) {
				x[head.index] = remove(x[head.index], rest, mask)
			}
		default: // every element; a member name means that member of each
			for i := range x {
				if head.kind == stepEvery {
					x[i] = remove(x[i], rest, mask)
				} else {
					x[i] = remove(x[i], steps, mask)
				}
			}
		}
		return x
	case nil:
		return nil
	}
	return maskValue(v, mask) // the path goes on where the value ends
}

// maskValue is the mask of a value's text, or of its JSON when it is no text.
func maskValue(v any, mask Mask) any {
	if text, ok := v.(string); ok {
		return mask(Field, text)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return Redacted
	}
	return mask(Field, string(raw))
}

// parsePath reads $.a.b[0][*]['name'] into steps after the $.
func parsePath(path string) ([]step, error) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, fmt.Errorf("parse path: %w", errPath)
	}
	var steps []step
	for rest != "" {
		var st step
		var err error
		switch rest[0] {
		case '.':
			st, rest, err = dotStep(rest[1:])
		case '[':
			st, rest, err = bracketStep(rest[1:])
		default:
			err = errPath
		}
		if err != nil {
			return nil, fmt.Errorf("parse path: %w", err)
		}
		steps = append(steps, st)
	}
	return steps, nil
}

func dotStep(s string) (step, string, error) {
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	if end == 0 {
		return step{}, "", errPath
	}
	if s[:end] == "*" {
		return step{kind: stepEvery}, s[end:], nil
	}
	return step{name: s[:end]}, s[end:], nil
}

func bracketStep(s string) (step, string, error) {
	if s != "" && (s[0] == '\'' || s[0] == '"') {
		end := strings.Index(s[1:], s[:1]+"]")
		if end < 1 {
			return step{}, "", errPath
		}
		return step{name: s[1 : 1+end]}, s[end+3:], nil
	}
	inner, rest, ok := strings.Cut(s, "]")
	if !ok {
		return step{}, "", errPath
	}
	if inner == "*" {
		return step{kind: stepEvery}, rest, nil
	}
	i, err := strconv.Atoi(inner)
	if err != nil || i < 0 {
		return step{}, "", errPath
	}
	return step{kind: stepIndex, index: i}, rest, nil
}

// namesField reports whether a path names the given top-level field of an item.
func namesField(paths []string, field string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		rest, ok := strings.CutPrefix(p, "$."+field)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}
