package schemas

import "slices"

// Filter is a predicate over Facets that stores can evaluate: policy pushed down,
// and what a request asks for. The zero Filter matches nothing, so that a forgotten
// filter hides everything instead of opening everything. It may let through more
// than policy allows, never less; the tenant condition is not part of it.
type Filter struct {
	all   bool
	conds []Cond
}

// Op is a condition's operator.
type Op string

// The operators. In holds when the field (or, for a list field, any element) is one
// of Values; EmptyOrIn also when the list is empty; NotIn when none is.
const (
	In        Op = "in"
	NotIn     Op = "not_in"
	EmptyOrIn Op = "empty_or_in"
	AtMost    Op = "at_most"
	AtLeast   Op = "at_least"
)

// Field names a facet in a condition.
type Field string

// The fields a condition may name.
const (
	FieldKind        Field = "kind"
	FieldType        Field = "type"
	FieldCategory    Field = "category"
	FieldSession     Field = "session"
	FieldLabels      Field = "labels"
	FieldGroups      Field = "groups"
	FieldPurposes    Field = "purposes"
	FieldSigner      Field = "signer"
	FieldLevel       Field = "level"
	FieldTrust       Field = "trust"
	FieldSensitivity Field = "sensitivity"
	FieldPII         Field = "pii"         // 0 or 1
	FieldCredentials Field = "credentials" // 0 or 1
)

// Cond is one condition: Values for the list operators, Number for the numeric ones.
type Cond struct {
	Field  Field    `json:"field"`            // facet of the item
	Op     Op       `json:"op"`               // in, not_in, empty_or_in, at_most or at_least
	Values []string `json:"values,omitempty"` // of the list operators
	Number float64  `json:"number,omitempty"` // of the numeric operators
}

// Conds returns the conditions on the items that are entered.
func (g *GraphQuery) Conds() []Cond {
	kinds := make([]string, len(g.Kinds))
	for i, k := range g.Kinds {
		kinds[i] = string(k)
	}
	conds := []Cond{{Field: FieldKind, Op: In, Values: kinds}, {Field: FieldLabels, Op: In, Values: g.Labels}}
	return slices.DeleteFunc(conds, func(c Cond) bool { return len(c.Values) == 0 })
}

// MatchAll returns the filter that matches every item of the tenant.
func MatchAll() Filter { return Filter{all: true} }

// MatchNone returns the filter that matches nothing, the zero Filter.
func MatchNone() Filter { return Filter{} }

// Where returns a filter that holds when every condition holds.
func Where(conds ...Cond) Filter { return Filter{all: true, conds: slices.Clone(conds)} }

// And returns the conjunction of f and g.
func (f Filter) And(g Filter) Filter {
	if !f.all || !g.all {
		return Filter{}
	}
	return Filter{all: true, conds: slices.Concat(f.conds, g.conds)}
}

// LabelUnsettled marks, in the indexes alone, an item that facets do not decide on: a verdict may
// hide it that looks at the time, at other items or at its flags. No item can have it: a label
// has a name and a value.
const LabelUnsettled = "unsettled"

// CategoryHidden stands, in the indexes alone, for a category that not everybody may see. Whoever
// looks for a category looks at these items as well, and goes by what the principal may see.
const CategoryHidden = "\u0001hidden"

// Settled returns the items of f that facets decide on. What a principal may see of these changes
// with no time and no other item, so statistics may be of them.
func (f Filter) Settled() Filter {
	return f.And(Where(Cond{Field: FieldLabels, Op: NotIn, Values: []string{LabelUnsettled}}))
}

// IsNone reports whether f matches nothing.
func (f Filter) IsNone() bool { return !f.all }

// Conds returns the conditions, all of which must hold. It is empty for MatchAll;
// check IsNone first.
func (f Filter) Conds() []Cond { return slices.Clone(f.conds) }

// Match reports whether an item with facets x passes.
func (f Filter) Match(x *Facets) bool {
	if !f.all {
		return false
	}
	for i := range f.conds {
		if !f.conds[i].holdsFor(x) {
			return false
		}
	}
	return true
}

func (c *Cond) holdsFor(x *Facets) bool {
	switch c.Op {
	case AtMost:
		v, ok := x.numberOf(c.Field)
		return ok && v <= c.Number
	case AtLeast:
		v, ok := x.numberOf(c.Field)
		return ok && v >= c.Number
	case In:
		return x.hasAny(c.Field, c.Values)
	case NotIn:
		return x.isKnown(c.Field) && !x.hasAny(c.Field, c.Values)
	case EmptyOrIn:
		return x.isEmpty(c.Field) || x.hasAny(c.Field, c.Values)
	}
	return false
}

func (x *Facets) listOf(f Field) ([]string, bool) {
	switch f {
	case FieldLabels:
		return x.Labels, true
	case FieldGroups:
		return x.Groups, true
	case FieldPurposes:
		return x.Purposes, true
	}
	return nil, false
}

func (x *Facets) textOf(f Field) (string, bool) {
	switch f {
	case FieldKind:
		return string(x.Kind), true
	case FieldType:
		return string(x.Type), true
	case FieldCategory:
		return x.Category, true
	case FieldSession:
		return x.Session, true
	case FieldSigner:
		return x.Signer, true
	}
	return "", false
}

func (x *Facets) numberOf(f Field) (float64, bool) {
	switch f {
	case FieldLevel:
		return float64(x.Level), true
	case FieldTrust:
		return x.Trust, true
	case FieldSensitivity:
		return x.Sensitivity, true
	case FieldPII:
		return oneIf(x.PII), true
	case FieldCredentials:
		return oneIf(x.Credentials), true
	}
	return 0, false
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (x *Facets) isKnown(f Field) bool {
	_, l := x.listOf(f)
	_, t := x.textOf(f)
	return l || t
}

func (x *Facets) isEmpty(f Field) bool {
	if l, ok := x.listOf(f); ok {
		return len(l) == 0
	}
	t, ok := x.textOf(f)
	return ok && t == ""
}

func (x *Facets) hasAny(f Field, values []string) bool {
	if l, ok := x.listOf(f); ok {
		return slices.ContainsFunc(l, func(v string) bool { return slices.Contains(values, v) })
	}
	t, ok := x.textOf(f)
	return ok && slices.Contains(values, t)
}
