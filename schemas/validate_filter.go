package schemas

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Filters are by field the value, or {"gte": …, "lt": …}. Numbers of a text of JSON keep their digits.
type Filters map[string]any

// UnmarshalJSON reads filters; numbers are json.Number.
func (f *Filters) UnmarshalJSON(raw []byte) error {
	var named map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&named); err != nil {
		return err
	}
	*f = named
	return nil
}

// FilterOr is the name of a filter whose value is a list of filters, of which an item passes one.
const FilterOr = "or"

// operatorNames are those of a filter, as a message names them.
const operatorNames = "eq, ne, in, gte, gt, lte, lt or exists"

// checkFilters checks query filters: a name and a value, a list of values (any of them),
// or an object of operators; or a list of such filters, of which one must pass.
func (c *checker) checkFilters(pointer string, filters Filters) {
	c.checkCount(pointer, len(filters), MaxFilters, "filters")
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		here := pointer + "/" + escapePointer(name)
		if !validFilterName(name) {
			c.addIssue(here, "must be named with 1 to 128 of the characters A-Z a-z 0-9 . _ : -")
			continue
		}
		if name == FilterOr {
			c.checkAlternatives(here, filters[name])
			continue
		}
		switch v := filters[name].(type) {
		case map[string]any:
			c.checkOperators(here, v)
		case []any:
			c.checkValues(here, v)
		default:
			c.checkScalar(here, v)
		}
	}
}

// checkAlternatives checks filters of which one must pass.
func (c *checker) checkAlternatives(pointer string, v any) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > MaxFilters {
		c.addIssue(pointer, "must be a list of 1 to "+strconv.Itoa(MaxFilters)+" objects of filters; an attribute of this name is attributes.or")
		return
	}
	for i, one := range list {
		filters, ok := one.(map[string]any)
		_, nested := filters[FilterOr]
		switch {
		case !ok || len(filters) == 0:
			c.addIssue(pointerAt(pointer, i), "must be an object of filters")
		case nested:
			c.addIssue(pointerAt(pointer, i)+"/"+FilterOr, "must not be inside another or")
		default:
			c.checkFilters(pointerAt(pointer, i), filters)
		}
	}
}

func validFilterName(s string) bool { return ValidID(s) }

func (c *checker) checkOperators(pointer string, ops map[string]any) {
	if len(ops) == 0 {
		c.addIssue(pointer, "must have an operator: "+operatorNames)
	}
	for _, op := range slices.Sorted(maps.Keys(ops)) {
		here := pointer + "/" + escapePointer(op)
		switch op {
		case "eq", "ne":
			c.checkScalar(here, ops[op])
		case "exists":
			if _, isBool := ops[op].(bool); !isBool {
				c.addIssue(here, "must be true or false")
			}
		case "gte", "gt", "lte", "lt":
			if _, isBool := ops[op].(bool); isBool {
				c.addIssue(here, "must be a number or a string")
				continue
			}
			c.checkScalar(here, ops[op])
		case "in":
			list, ok := ops[op].([]any)
			if !ok {
				c.addIssue(here, "must be an array of values")
				continue
			}
			c.checkValues(here, list)
		default:
			c.addIssue(here, "is not an operator: use "+operatorNames)
		}
	}
	for _, low := range []string{"gte", "gt"} {
		for _, high := range []string{"lte", "lt"} {
			c.checkBounds(pointer, ops, low, high)
		}
	}
}

// checkBounds refuses a range that nothing can satisfy.
func (c *checker) checkBounds(pointer string, ops map[string]any, low, high string) {
	a, okA := ops[low]
	b, okB := ops[high]
	if !okA || !okB {
		return
	}
	order, comparable := compareScalars(a, b)
	switch {
	case !comparable:
		c.addIssue(pointer+"/"+high, "must be of the same type as "+low)
	case order > 0, order == 0 && (low == "gt" || high == "lt"):
		c.addIssue(pointer+"/"+high, "is upside down: nothing is both "+low+" and "+high)
	}
}

// Moment returns the first and the last moment of a time, which are the same, or of a day in a zone.
func Moment(s string, zone *time.Location) (from, to time.Time, ok bool) {
	if t, err := ParseTime(s); err == nil {
		return t, t, true
	}
	day, err := time.ParseInLocation(time.DateOnly, s, zone)
	return day, day.AddDate(0, 0, 1).Add(-1), err == nil
}

// compareScalars orders a lower and an upper bound: two numbers, two times or two strings.
func compareScalars(a, b any) (int, bool) {
	if x, ok := asNumber(a); ok {
		y, ok := asNumber(b)
		return cmp.Compare(x, y), ok
	}
	x, isText := a.(string)
	y, areTexts := b.(string)
	if !isText || !areTexts {
		return 0, false
	}
	from, _, isTime := Moment(x, time.UTC)
	_, to, areTimes := Moment(y, time.UTC)
	if isTime && areTimes {
		return from.Compare(to), true
	}
	return strings.Compare(x, y), true
}

func asNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case float32:
		return float64(n), true
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

func (c *checker) checkValues(pointer string, list []any) {
	if len(list) == 0 {
		c.addIssue(pointer, "must not be empty")
	}
	c.checkCount(pointer, len(list), MaxRefs, "values")
	for i, v := range list {
		c.checkScalar(pointerAt(pointer, i), v)
	}
}

func (c *checker) checkScalar(pointer string, v any) {
	switch x := v.(type) {
	case string:
		c.checkShort(pointer, x, MaxReason)
		return
	case bool:
		return
	}
	n, ok := asNumber(v)
	if _, written := v.(json.Number); ok || written {
		if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
			c.addIssue(pointer, "must be a finite number")
		}
		return
	}
	c.addIssue(pointer, "must be a string, a number or a boolean")
}

// checkScalars checks a flat map, such as the signals of a turn.
func (c *checker) checkScalars(pointer string, m map[string]any) {
	c.checkCount(pointer, len(m), MaxFilters, "entries")
	for _, name := range slices.Sorted(maps.Keys(m)) {
		c.checkScalar(pointer+"/"+escapePointer(name), m[name])
	}
}
