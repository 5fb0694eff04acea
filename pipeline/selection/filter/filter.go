// Package filter turns the filters of a request into what stores evaluate, and into
// predicates over what the principal may see of an item.
package filter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
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
// is a validation error that names the filter below pointer, where the request has them. A date is a day of the zone.
func Parse(pointer string, named map[string]any, zone *time.Location) (schemas.Filter, []Predicate, error) {
	var conds []schemas.Cond
	var left []Predicate
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if name == schemas.FilterOr {
			holds, err := parseOr(pointer+"/"+name, named[name], zone)
			if err != nil {
				return schemas.Filter{}, nil, err
			}
			left = append(left, holds)
			continue
		}
		tests, err := parseTests(named[name])
		if err == nil {
			err = refuseImpossibleTests(name, tests)
		}
		if err != nil {
			return schemas.Filter{}, nil, filterError(pointer, name, err)
		}
		if more, ok := translateTests(name, tests); ok {
			conds = append(conds, more...)
			if f := schemas.Field(name); f != schemas.FieldCategory && f != schemas.FieldSession {
				continue
			} // else the principal may not see what the store goes by
		}
		read := findFieldReader(name)
		for _, t := range tests {
			left = append(left, func(r *candidate.Visible) bool { return t.isPassedBy(read(r), zone) })
		}
	}
	return schemas.Where(conds...), left, nil
}

// parseOr turns a list of filters into a predicate that an item passes with one of them.
func parseOr(pointer string, v any, zone *time.Location) (Predicate, error) {
	list, _ := v.([]any)
	ways := make([]Predicate, 0, len(list))
	for i, one := range list {
		named, _ := one.(map[string]any)
		stored, left, err := Parse(pointer+"/"+strconv.Itoa(i), named, zone)
		if err != nil {
			return nil, err
		}
		ways = append(ways, func(r *candidate.Visible) bool {
			return stored.Match(&r.Facets) && !slices.ContainsFunc(left, func(holds Predicate) bool { return !holds(r) })
		})
	}
	return func(r *candidate.Visible) bool {
		return slices.ContainsFunc(ways, func(holds Predicate) bool { return holds(r) })
	}, nil
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
			case "gte", "gt", "lte", "lt", "eq", "ne", "exists":
				out = append(out, test{op, []any{x[op]}})
			case "in":
				list, ok := x[op].([]any)
				if !ok {
					return nil, fmt.Errorf("operator %q needs a list", op)
				}
				out = append(out, test{"eq", list})
			default:
				return nil, fmt.Errorf("operator %q is not one of eq, ne, in, gte, gt, lte, lt, exists", op)
			}
		}
		return out, nil
	case []any:
		return []test{{"eq", x}}, nil
	}
	return []test{{"eq", []any{v}}}, nil
}

// translateTests translates tests of a facet into conditions.
func translateTests(name string, tests []test) ([]schemas.Cond, bool) {
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

// isPassedBy compares a field's value; a list field passes when any element does, and a
// value that is absent passes nothing but that it does not exist.
func (t test) isPassedBy(value any, zone *time.Location) bool {
	switch t.op {
	case "exists":
		return hasValue(value) == t.values[0]
	case "ne":
		return hasValue(value) && !test{"eq", t.values}.isPassedBy(value, zone)
	}
	if list, ok := value.([]any); ok {
		return slices.ContainsFunc(list, func(one any) bool { return t.isPassedBy(one, zone) })
	}
	return slices.ContainsFunc(t.values, func(want any) bool {
		from, to, ok := compareSpan(value, want, zone)
		if !ok {
			return false
		}
		switch t.op {
		case "eq":
			return from >= 0 && to <= 0
		case "gte":
			return from >= 0
		case "gt":
			return to > 0
		case "lte":
			return to <= 0
		}
		return from < 0
	})
}

// hasValue reports whether an item has a value.
func hasValue(value any) bool {
	switch x := value.(type) {
	case nil:
		return false
	case string:
		return x != ""
	case time.Time:
		return !x.IsZero()
	case []any:
		return len(x) > 0
	}
	return true
}

// compareSpan orders a value and the first and the last moment of a day; for all else these are the same.
func compareSpan(value, want any, zone *time.Location) (from, to int, ok bool) {
	at, isTime := value.(time.Time)
	text, isText := want.(string)
	if !isTime || !isText {
		from, ok = compareValues(value, want)
		return from, from, ok
	}
	first, last, ok := schemas.Moment(text, zone)
	return at.Compare(first), at.Compare(last), ok && !at.IsZero()
}

// compareValues orders two values of one sort: numbers, times, booleans or strings.
func compareValues(a, b any) (int, bool) {
	if x, ok := asNumber(a); ok {
		y, ok := asNumber(b)
		if order := cmp.Compare(x, y); order != 0 || !ok {
			return order, ok
		}
		return compareDigits(a, b), true
	}
	switch x := a.(type) {
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

// compareDigits orders numbers that a float64 holds alike by all the digits that they are written with.
func compareDigits(a, b any) int {
	x, okX := makeRational(a)
	y, okY := makeRational(b)
	if !okX || !okY {
		return 0
	}
	return x.Cmp(y)
}

// mostExponent is the number of letters of the longest exponent that is computed with.
const mostExponent = 4

func makeRational(v any) (*big.Rat, bool) {
	switch n := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(n), true
	case json.Number:
		text := string(n)
		if at := strings.IndexAny(text, "eE"); at >= 0 && len(text)-at-1 > mostExponent {
			return nil, false
		}
		return new(big.Rat).SetString(text)
	}
	return nil, false
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

// findFieldReader returns how a named field is read from a record; nil for an absent value.
func findFieldReader(name string) func(*candidate.Visible) any {
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
	case "labels":
		return func(r *candidate.Visible) any { return convertStrings(r.Facets.Labels) }
	case "groups":
		return func(r *candidate.Visible) any { return convertStrings(r.Facets.Groups) }
	case "purposes":
		return func(r *candidate.Visible) any { return convertStrings(r.Facets.Purposes) }
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
	return func(r *candidate.Visible) any { return findAttribute(r.Attributes, path) }
}

func convertStrings(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// findAttribute looks a path up in a JSON object, nil for nothing.
func findAttribute(raw json.RawMessage, path []string) any {
	if len(raw) == 0 {
		return nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil // attributes are validated when written; what cannot be read holds nothing
	}
	return lookUp(v, path)
}

// lookUp follows a path: a name may have dots itself, the longest first, a number indexes an array, and any other name is
// that of all its objects.
func lookUp(v any, path []string) any {
	if len(path) == 0 {
		return v
	}
	switch x := v.(type) {
	case map[string]any:
		for n := len(path); n > 0; n-- {
			if found := lookUp(x[strings.Join(path[:n], ".")], path[n:]); found != nil {
				return found
			}
		}
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil {
			if i < 0 || i >= len(x) {
				return nil
			}
			return lookUp(x[i], path[1:])
		}
		var all []any
		for _, one := range x {
			if found := lookUp(one, path); found != nil {
				all = append(all, found)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}

func valueOr(p *float64, otherwise float64) float64 {
	if p == nil {
		return otherwise
	}
	return *p
}
