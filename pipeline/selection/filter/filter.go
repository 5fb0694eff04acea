// Package filter turns the filters of a request into what stores evaluate, and into
// predicates over what the principal may see of an item.
package filter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// Predicate is a request filter that stores cannot evaluate. It looks at what the principal
// may see of an item.
type Predicate func(r *candidate.Visible) bool

// Parse turns a request's filters into what stores evaluate and what is left for
// the record. Every value of a name that is no field of an item is looked up in the
// attributes, a dotted name in depth. A value that cannot be compared with its field
// is a validation error that names the filter below pointer, where the request has them.
func Parse(pointer string, named map[string]any) (schemas.Filter, []Predicate, error) {
	var conds []schemas.Cond
	var left []Predicate
	for _, name := range slices.Sorted(maps.Keys(named)) {
		tests, err := parseTests(named[name])
		if err == nil {
			err = sensible(name, tests)
		}
		if err != nil {
			return schemas.Filter{}, nil, filterError(pointer, name, err)
		}
		if more, ok := pushable(name, tests); ok {
			conds = append(conds, more...)
			if f := schemas.Field(name); f != schemas.FieldCategory && f != schemas.FieldSession {
				continue
			} // else the principal may not see what the store goes by
		}
		read := reader(name)
		for _, t := range tests {
			left = append(left, func(r *candidate.Visible) bool { return t.holds(read(r)) })
		}
	}
	return schemas.Where(conds...), left, nil
}

// Tells reports whether a request's filters are about more than the kind and type of items, or let
// summaries alone through: then the client has said which items it wants, beside the question.
func Tells(named map[string]any) bool {
	for name, v := range named {
		switch schemas.Field(name) {
		case schemas.FieldType:
		case schemas.FieldKind:
			if summariesAlone(v) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// summariesAlone reports whether a filter of kinds lets summaries through and nothing else. A summary
// stands for a session, whatever that was about.
func summariesAlone(v any) bool {
	tests, err := parseTests(v)
	return err == nil && slices.ContainsFunc(tests, func(t test) bool {
		return t.op == "eq" && len(t.values) == 1 && t.values[0] == string(schemas.KindSummary)
	})
}

func filterError(pointer, name string, err error) error {
	return &schemas.Error{Code: schemas.CodeValidation, Field: pointer + "/" + escapePointer(name), Message: err.Error()}
}

func escapePointer(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

// test is one operator with its operands; eq with several operands means any of them.
type test struct {
	op     string
	values []any
}

func parseTests(v any) ([]test, error) {
	switch x := v.(type) {
	case map[string]any:
		var out []test
		for _, op := range slices.Sorted(maps.Keys(x)) {
			switch op {
			case "gte", "gt", "lte", "lt", "eq":
				out = append(out, test{op, []any{x[op]}})
			case "in":
				list, ok := x[op].([]any)
				if !ok {
					return nil, fmt.Errorf("operator %q needs a list", op)
				}
				out = append(out, test{"eq", list})
			default:
				return nil, fmt.Errorf("operator %q is not one of eq, in, gte, gt, lte, lt", op)
			}
		}
		return out, nil
	case []any:
		return []test{{"eq", x}}, nil
	}
	return []test{{"eq", []any{v}}}, nil
}

// pushable translates tests of a facet into conditions.
func pushable(name string, tests []test) ([]schemas.Cond, bool) {
	field := schemas.Field(name)
	switch field {
	case schemas.FieldKind, schemas.FieldType, schemas.FieldCategory, schemas.FieldSession,
		schemas.FieldLabels, schemas.FieldGroups, schemas.FieldPurposes, schemas.FieldSigner:
		return pushLists(field, tests)
	case schemas.FieldTrust, schemas.FieldSensitivity:
		return pushNumbers(field, tests)
	}
	return nil, false
}

func pushLists(field schemas.Field, tests []test) ([]schemas.Cond, bool) {
	var out []schemas.Cond
	for _, t := range tests {
		values := make([]string, 0, len(t.values))
		for _, v := range t.values {
			s, ok := v.(string)
			if !ok || t.op != "eq" {
				return nil, false
			}
			values = append(values, s)
		}
		if field == schemas.FieldCategory {
			values = append(values, schemas.CategoryHidden)
		}
		out = append(out, schemas.Cond{Field: field, Op: schemas.In, Values: values})
	}
	return out, true
}

func pushNumbers(field schemas.Field, tests []test) ([]schemas.Cond, bool) {
	var out []schemas.Cond
	for _, t := range tests {
		n, ok := asNumber(t.values[0])
		if !ok || len(t.values) != 1 {
			return nil, false
		}
		switch t.op {
		case "gte":
			out = append(out, schemas.Cond{Field: field, Op: schemas.AtLeast, Number: n})
		case "lte":
			out = append(out, schemas.Cond{Field: field, Op: schemas.AtMost, Number: n})
		default:
			return nil, false
		}
	}
	return out, true
}

// holds compares a field's value; a list field passes when any element does, and a
// value that is absent passes nothing.
func (t test) holds(value any) bool {
	if list, ok := value.([]any); ok {
		return slices.ContainsFunc(list, t.holds)
	}
	for _, want := range t.values {
		order, ok := compare(value, want)
		if !ok {
			continue
		}
		switch t.op {
		case "eq":
			if order == 0 {
				return true
			}
		case "gte":
			return order >= 0
		case "gt":
			return order > 0
		case "lte":
			return order <= 0
		case "lt":
			return order < 0
		}
	}
	return false
}

// compare orders two values of one sort: numbers, times, booleans or strings.
func compare(a, b any) (int, bool) {
	if x, ok := asNumber(a); ok {
		y, ok := asNumber(b)
		return cmp.Compare(x, y), ok
	}
	switch x := a.(type) {
	case time.Time:
		y, ok := asTime(b)
		return x.Compare(y), ok && !x.IsZero()
	case bool:
		y, ok := b.(bool)
		if x == y {
			return 0, ok
		}
		return 1, ok
	case string:
		y, ok := b.(string)
		return cmp.Compare(x, y), ok && (x != "" || y == "") // an absent text is in no range
	}
	return 0, false
}

func asNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

func asTime(v any) (time.Time, bool) {
	s, ok := v.(string)
	if !ok {
		return time.Time{}, false
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// reader returns how a named field is read from a record; nil for an absent value.
func reader(name string) func(*candidate.Visible) any {
	switch name {
	case "id":
		return func(r *candidate.Visible) any { return r.ID }
	case "kind":
		return func(r *candidate.Visible) any { return string(r.Kind) }
	case "type":
		return func(r *candidate.Visible) any { return string(r.Type) }
	case "category":
		return func(r *candidate.Visible) any { return r.Category }
	case "session":
		return func(r *candidate.Visible) any { return r.SessionID() }
	case "project":
		return func(r *candidate.Visible) any { return r.Scope.Project }
	case "org":
		return func(r *candidate.Visible) any { return r.Scope.Org }
	case "speaker":
		return func(r *candidate.Visible) any { return r.Speaker }
	case "role":
		return func(r *candidate.Visible) any { return r.Role }
	case "signer":
		return func(r *candidate.Visible) any { return r.Facets.Signer }
	case "level":
		return func(r *candidate.Visible) any { return r.Facets.Level.String() }
	case "source_uri":
		return func(r *candidate.Visible) any { return r.Provenance.SourceURI }
	}
	return numberReader(name)
}

func numberReader(name string) func(*candidate.Visible) any {
	switch name {
	case "created_at":
		return func(r *candidate.Visible) any { return r.CreatedAt }
	case "updated_at":
		return func(r *candidate.Visible) any { return r.UpdatedAt }
	case "recorded_at":
		return func(r *candidate.Visible) any { return r.RecordedAt }
	case "valid_from":
		return func(r *candidate.Visible) any { return r.ValidFrom }
	case "valid_to":
		return func(r *candidate.Visible) any { return r.ValidTo }
	case "confidence":
		return func(r *candidate.Visible) any { return valueOr(r.Confidence, 1) }
	case "importance":
		return func(r *candidate.Visible) any { return valueOr(r.Importance, .5) }
	case "trust":
		return func(r *candidate.Visible) any { return r.Facets.Trust }
	case "sensitivity":
		return func(r *candidate.Visible) any { return r.Facets.Sensitivity }
	case "position":
		return func(r *candidate.Visible) any { return r.Position }
	case "access_count":
		return func(r *candidate.Visible) any { return r.AccessCount }
	}
	path := strings.Split(strings.TrimPrefix(name, "attributes."), ".")
	return func(r *candidate.Visible) any { return attribute(r.Attributes, path) }
}

// attribute looks a path up in a JSON object; a number in the path indexes an array.
func attribute(raw json.RawMessage, path []string) any {
	if len(raw) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil // attributes are validated when written; what cannot be read holds nothing
	}
	for _, step := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func valueOr(p *float64, otherwise float64) float64 {
	if p == nil {
		return otherwise
	}
	return *p
}
