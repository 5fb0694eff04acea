package relevance

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// signal is what a signal may be: of one of the types, a number within the bounds.
type signal struct {
	types     types
	low, high float64
}

// types is a set of types, one bit a type.
type types uint8

const (
	typeNumber types = 1 << iota
	typeBoolean
	typeText
)

const (
	maxMisfits = 8  // signals that a decision warns of by name
	maxQuoted  = 64 // bytes of a name that a warning shows
	maxListed  = 12 // known signals that a warning lists
)

func typeOf(v any) types {
	switch v.(type) {
	case string:
		return typeText
	case bool:
		return typeBoolean
	}
	if _, ok := asNumber(v); ok {
		return typeNumber
	}
	return 0
}

// compileSignals takes what is said of signals, and what the rules compare them with.
func (g *Gate) compileSignals(said map[string]Signal) {
	g.signals = make(map[string]signal, len(said))
	for name, s := range said {
		of := map[SignalType]types{Number: typeNumber, Boolean: typeBoolean, Text: typeText}[s.Type]
		one := signal{types: of, low: math.Inf(-1), high: math.Inf(1)}
		if s.Min != nil {
			one.low = *s.Min
		}
		if s.Max != nil {
			one.high = *s.Max
		}
		g.signals[name] = one
	}
	for i := range g.rules {
		g.widenSignals(g.rules[i].hard)
		g.widenSignals(g.rules[i].soft)
	}
	for i := range g.safety {
		g.widenSignals(g.safety[i].any)
	}
}

// widenSignals widens what signals may be to what conditions compare them with.
func (g *Gate) widenSignals(conditions []condition) {
	for _, c := range conditions {
		for i := range c {
			if c[i].key == returningKey {
				continue
			}
			s, ok := g.signals[c[i].key]
			n, isNumber := c[i].value.(float64)
			if !ok || isNumber && (s.types&typeNumber == 0 || n < s.low || n > s.high) {
				s.low, s.high = math.Inf(-1), math.Inf(1)
			}
			s.types |= typeOf(c[i].value)
			g.signals[c[i].key] = s
		}
	}
}

func (s *signal) canTakeValue(v any) bool {
	switch v.(type) {
	case bool:
		return s.types&typeBoolean != 0
	case string:
		return s.types&typeText != 0
	}
	n, ok := asNumber(v)
	return ok && s.types&typeNumber != 0 && n >= s.low && n <= s.high
}

// listMisfits says of each signal that is unknown, of a wrong type or out of range which it
// is, and never its value; nil for none. It is the only part of a decision that sees
// signals no rule asks for.
func (g *Gate) listMisfits(signals map[string]any) []string {
	var names []string
	for name, v := range signals {
		if s, ok := g.signals[name]; !ok || !s.canTakeValue(v) {
			names = append(names, name)
		}
	}
	if names == nil {
		return nil
	}
	slices.Sort(names)
	out := make([]string, 0, maxMisfits+1)
	for _, name := range names[:min(len(names), maxMisfits)] {
		out = append(out, "signal "+quoteName(name)+" "+g.describeMisfit(name, signals[name]))
	}
	if more := len(names) - maxMisfits; more > 0 {
		out = append(out, fmt.Sprintf("and %d more signals are unknown or wrong", more))
	}
	return out
}

func (g *Gate) describeMisfit(name string, v any) string {
	s, known := g.signals[name]
	switch have := typeOf(v); {
	case name == returningKey:
		return "is ignored: it is a field of the request, not a signal"
	case !known:
		return "is unknown to the configuration" + g.suggestSignal(name)
	case have&s.types == 0:
		return "is " + have.String() + ", want " + s.types.String() + ": no rule heeds it"
	case math.IsInf(s.high, 1):
		return "is out of range: at least " + formatBound(s.low)
	case math.IsInf(s.low, -1):
		return "is out of range: at most " + formatBound(s.high)
	}
	return "is out of range: " + formatBound(s.low) + " to " + formatBound(s.high)
}

// suggestSignal names the nearest signal, or else all when they are few.
func (g *Gate) suggestSignal(name string) string {
	known := slices.Sorted(maps.Keys(g.signals))
	if len(known) == 0 {
		return ", which has none"
	}
	if near, ok := findNearest(name, known); ok {
		return ": is it " + near + "?"
	}
	if len(known) > maxListed {
		return ""
	}
	return ", which has " + strings.Join(known, ", ")
}

// findNearest returns the one of known that name most likely means, and false for none.
func findNearest(name string, known []string) (string, bool) {
	if len(known) == 0 {
		return "", false
	}
	name = foldName(name[:min(len(name), maxQuoted)])
	near := slices.MinFunc(known, func(a, b string) int {
		return cmp.Compare(countDifferences(name, foldName(a)), countDifferences(name, foldName(b)))
	})
	return near, countDifferences(name, foldName(near))*3 <= len(name)
}

// foldName is a name without case and separators.
func foldName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// countDifferences is how many letters of a and b differ (Levenshtein); a part of a longer name is
// one off.
func countDifferences(a, b string) int {
	if a == b {
		return 0
	}
	if len(a) > 4 && strings.Contains(b, a) || len(b) > 4 && strings.Contains(a, b) {
		return 1
	}
	return levenshtein.ComputeDistance(a, b)
}

func quoteName(name string) string {
	if len(name) > maxQuoted {
		name = name[:maxQuoted]
	}
	return strconv.Quote(strings.ToValidUTF8(name, ""))
}

func formatBound(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// String says what values of the types are.
func (t types) String() string {
	var names []string
	for i, name := range []string{"a number", "true or false", "a text"} {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if names == nil {
		return "neither a number nor true or false nor a text"
	}
	return strings.Join(names, " or ")
}
