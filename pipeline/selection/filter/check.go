package filter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"satchel/schemas"
)

// sort is what a field's values are.
type sort string

const (
	sortText   sort = "a text"
	sortNumber sort = "a number"
	sortTime   sort = "a date or a time (2026-01-31, RFC 3339)"
)

// fieldSorts are the fields of an item that a filter may name, and what they hold.
func fieldSorts() map[string]sort {
	out := map[string]sort{}
	for _, name := range []string{"id", "kind", "type", "category", "session", "project", "org", "speaker", "role", "signer", "level",
		"source_uri", "labels", "groups", "purposes"} {
		out[name] = sortText
	}
	for _, name := range []string{"confidence", "importance", "trust", "sensitivity", "position", "access_count"} {
		out[name] = sortNumber
	}
	for _, name := range []string{"created_at", "updated_at", "recorded_at", "valid_from", "valid_to"} {
		out[name] = sortTime
	}
	return out
}

// fieldValues are the values of the fields that have few.
func fieldValues() map[string][]string {
	kinds := make([]string, 0, 8)
	for _, row := range schemas.Kinds() {
		kinds = append(kinds, string(row.Kind))
	}
	levels := make([]string, 0, 4)
	for l := schemas.Public; l <= schemas.Restricted; l++ {
		levels = append(levels, l.String())
	}
	return map[string][]string{
		"kind": kinds, "level": levels,
		"type": {string(schemas.Episodic), string(schemas.Procedural), string(schemas.Semantic)},
	}
}

// refuseImpossibleTests refuses tests that no item can pass: a value of another sort than the field or
// that the field cannot have, a date range that ends before it begins, and a name that is
// nearly that of a field.
// Any other name is an attribute's.
func refuseImpossibleTests(name string, tests []test) error {
	sorts := fieldSorts()
	want, ok := sorts[name]
	if !ok {
		return refuseMisspeltName(name, sorts)
	}
	few := fieldValues()
	for _, t := range tests {
		if t.op == "exists" {
			continue
		}
		for _, v := range t.values {
			if !isOfSort(want, v) {
				return fmt.Errorf("%s is compared with %s, want %s", name, describeValue(v), want)
			}
			if text, ok := v.(string); ok && (t.op == "eq" || t.op == "ne") && len(few[name]) > 0 && !slices.Contains(few[name], text) {
				return fmt.Errorf("%s has no such value, it has %s", name, strings.Join(few[name], ", "))
			}
		}
	}
	return upsideDown(tests)
}

func isOfSort(want sort, v any) bool {
	switch want {
	case sortNumber:
		_, ok := asNumber(v)
		return ok
	case sortTime:
		text, _ := v.(string)
		_, _, ok := schemas.Moment(text, time.UTC)
		return ok
	}
	_, ok := v.(string)
	return ok
}

// describeValue says what a value is, not which: it may be content.
func describeValue(v any) string {
	switch v.(type) {
	case string:
		return "a text"
	case bool:
		return "true or false"
	case nil:
		return "null"
	}
	if _, ok := asNumber(v); ok {
		return "a number"
	}
	return "a list or an object"
}

// upsideDown refuses a lower bound above an upper one.
func upsideDown(tests []test) error {
	for _, low := range tests {
		for _, high := range tests {
			if low.op != "gte" && low.op != "gt" || high.op != "lte" && high.op != "lt" {
				continue
			}
			order, ok := compareBounds(low.values[0], high.values[0])
			if ok && (order > 0 || order == 0 && (low.op == "gt" || high.op == "lt")) {
				return fmt.Errorf("the range is upside down: nothing is both %s and %s", low.op, high.op)
			}
		}
	}
	return nil
}

// compareBounds orders a lower and an upper bound: numbers and times; of texts only those that are times. A day is a
// lower bound from its beginning and an upper one to its end.
func compareBounds(low, high any) (int, bool) {
	x, okX := low.(string)
	y, okY := high.(string)
	if !okX || !okY {
		return compareValues(low, high)
	}
	from, _, okX := schemas.Moment(x, time.UTC)
	_, to, okY := schemas.Moment(y, time.UTC)
	return from.Compare(to), okX && okY
}

// refuseMisspeltName refuses a name that differs from a field's in one place, or in case, separators
// and an "id" at the end alone. Attributes of such a name are reached as attributes.NAME.
func refuseMisspeltName(name string, sorts map[string]sort) error {
	if strings.Contains(name, ".") {
		return nil
	}
	fields := slices.Sorted(maps.Keys(sorts))
	meant := slices.IndexFunc(fields, func(field string) bool { return namesField(name, field) })
	if meant < 0 && len(name) >= 3 {
		meant = slices.IndexFunc(fields, func(field string) bool { return len(field) >= 4 && isNearlyEqual(name, field) })
	}
	if meant < 0 {
		return nil
	}
	return fmt.Errorf("is no field; %q is one, and an attribute is attributes.%s", fields[meant], name)
}

// namesField reports whether a name is a field's but for case, separators and an ending _id or Id.
func namesField(name, field string) bool {
	bare := strings.NewReplacer("_", "", "-", "")
	if strings.EqualFold(bare.Replace(name), bare.Replace(field)) {
		return true
	}
	for _, ending := range []string{"_id", "-id", "Id", "ID"} {
		if rest, ok := strings.CutSuffix(name, ending); ok && strings.EqualFold(bare.Replace(rest), bare.Replace(field)) {
			return true
		}
	}
	return false
}

// isNearlyEqual reports whether a and b differ by one letter more, less, other or swapped.
func isNearlyEqual(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	return swapped || i < len(a) && a[i+1:] == b[i+1:]
}

// Fields lists the names that filters may use besides attributes, sorted.
func Fields() []string {
	out := make([]string, 0, 24)
	for name := range fieldSorts() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
