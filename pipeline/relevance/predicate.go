package relevance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type operator uint8

const (
	opEqual operator = iota
	opAtLeast
	opMore
	opAtMost
	opLess
)

// returningKey is the signal that Input carries as a field.
const returningKey = "returning_from_silence"

// predicate compares one signal with a constant.
type predicate struct {
	key   string
	op    operator
	value any // float64; for opEqual string or bool, too
}

// condition holds when every predicate does.
type condition []predicate

func compileCondition(where string, when map[string]any) (condition, error) {
	if len(when) == 0 {
		return nil, fmt.Errorf("%w: %s has an empty condition", ErrConfig, where)
	}
	var all condition
	for _, key := range slices.Sorted(maps.Keys(when)) {
		p, err := compilePredicate(key, when[key])
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrConfig, where, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func compilePredicate(key string, value any) (predicate, error) {
	value = normaliseNumber(value)
	switch value.(type) {
	case string, bool, float64:
	default:
		return predicate{}, fmt.Errorf("%q must be compared with a string, a number or a boolean", key)
	}
	for _, suffix := range [...]struct {
		text string
		op   operator
	}{{"_gte", opAtLeast}, {"_gt", opMore}, {"_lte", opAtMost}, {"_lt", opLess}, {"_eq", opEqual}} {
		name, ok := strings.CutSuffix(key, suffix.text)
		if !ok || name == "" {
			continue
		}
		_, isNumber := value.(float64)
		if suffix.op != opEqual && !isNumber {
			return predicate{}, fmt.Errorf("%q must be compared with a number", key)
		}
		return predicate{key: name, op: suffix.op, value: value}, nil
	}
	return predicate{key: key, value: value}, nil
}

// normaliseNumber brings every number to float64.
func normaliseNumber(v any) any {
	if n, ok := asNumber(v); ok {
		return n
	}
	return v
}

// asNumber returns a number of any type that a signal comes as.
func asNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case float32:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

func (c condition) isConditionMet(in *Input) bool {
	for i := range c {
		if !c[i].isPredicateMet(in) {
			return false
		}
	}
	return true
}

func (p *predicate) isPredicateMet(in *Input) bool {
	if p.key == returningKey {
		return p.op == opEqual && p.value == any(in.ReturningFromSilence)
	}
	have, ok := in.Signals[p.key]
	if !ok {
		return false
	}
	want, isNumber := p.value.(float64)
	if !isNumber {
		switch have.(type) {
		case string, bool:
			return have == p.value
		}
		return false
	}
	n, ok := asNumber(have)
	if !ok {
		return false
	}
	switch p.op {
	case opEqual:
		return n == want
	case opAtLeast:
		return n >= want
	case opMore:
		return n > want
	case opAtMost:
		return n <= want
	}
	return n < want
}
