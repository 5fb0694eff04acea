package schemas

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// filters checks query filters: a name and a value, a list of values (any of them),
// or an object of the operators eq, in, gte, gt, lte and lt.
func (c *checker) filters(pointer string, filters map[string]any) {
	if len(filters) > MaxFilters {
		c.add(pointer, "must have at most "+strconv.Itoa(MaxFilters)+" filters")
	}
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		here := pointer + "/" + escapePointer(name)
		if !validFilterName(name) {
			c.add(here, "must be named with 1 to 128 of the characters A-Z a-z 0-9 . _ : -")
			continue
		}
		switch v := filters[name].(type) {
		case map[string]any:
			c.operators(here, v)
		case []any:
			c.values(here, v)
		default:
			c.scalar(here, v)
		}
	}
}

func validFilterName(s string) bool { return ValidID(s) }

func (c *checker) operators(pointer string, ops map[string]any) {
	if len(ops) == 0 {
		c.add(pointer, "must have an operator: eq, in, gte, gt, lte or lt")
	}
	for _, op := range slices.Sorted(maps.Keys(ops)) {
		here := pointer + "/" + escapePointer(op)
		switch op {
		case "eq":
			c.scalar(here, ops[op])
		case "gte", "gt", "lte", "lt":
			if _, isBool := ops[op].(bool); isBool {
				c.add(here, "must be a number or a string")
				continue
			}
			c.scalar(here, ops[op])
		case "in":
			list, ok := ops[op].([]any)
			if !ok {
				c.add(here, "must be an array of values")
				continue
			}
			c.values(here, list)
		default:
			c.add(here, "is not an operator: use eq, in, gte, gt, lte or lt")
		}
	}
	for _, low := range []string{"gte", "gt"} {
		for _, high := range []string{"lte", "lt"} {
			c.ordered(pointer, ops, low, high)
		}
	}
}

// ordered refuses a range that nothing can satisfy.
func (c *checker) ordered(pointer string, ops map[string]any, low, high string) {
	a, okA := ops[low]
	b, okB := ops[high]
	if !okA || !okB {
		return
	}
	order, comparable := compareScalars(a, b)
	switch {
	case !comparable:
		c.add(pointer+"/"+high, "must be of the same type as "+low)
	case order > 0, order == 0 && (low == "gt" || high == "lt"):
		c.add(pointer+"/"+high, "is upside down: nothing is both "+low+" and "+high)
	}
}

// compareScalars orders two numbers, two times or two strings.
func compareScalars(a, b any) (int, bool) {
	if x, ok := asNumber(a); ok {
		y, ok := asNumber(b)
		switch {
		case !ok:
			return 0, false
		case x < y:
			return -1, true
		case x > y:
			return 1, true
		}
		return 0, true
	}
	x, okX := a.(string)
	y, okY := b.(string)
	if !okX || !okY {
		return 0, false
	}
	tx, errX := time.Parse(time.RFC3339, x)
	ty, errY := time.Parse(time.RFC3339, y)
	if errX == nil && errY == nil {
		return tx.Compare(ty), true
	}
	switch {
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, true
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

func (c *checker) values(pointer string, list []any) {
	switch {
	case len(list) == 0:
		c.add(pointer, "must not be empty")
	case len(list) > MaxRefs:
		c.add(pointer, "must have at most "+strconv.Itoa(MaxRefs)+" values")
	}
	for i, v := range list {
		c.scalar(at(pointer, i), v)
	}
}

func (c *checker) scalar(pointer string, v any) {
	switch x := v.(type) {
	case string:
		c.short(pointer, x, MaxReason)
		return
	case bool:
		return
	}
	if n, ok := asNumber(v); ok {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			c.add(pointer, "must be a finite number")
		}
		return
	}
	c.add(pointer, "must be a string, a number or a boolean")
}

// scalars checks a flat map, such as the signals of a turn.
func (c *checker) scalars(pointer string, m map[string]any) {
	if len(m) > MaxFilters {
		c.add(pointer, "must have at most "+strconv.Itoa(MaxFilters)+" entries")
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		c.scalar(pointer+"/"+escapePointer(name), m[name])
	}
}
