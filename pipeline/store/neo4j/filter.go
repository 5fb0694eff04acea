package neo4j

import (
	"strconv"

	"satchel/schemas"
)

// translateFilter translates f for the node variable v; values become parameters in p.
// "false" stands for what never holds.
func translateFilter(f schemas.Filter, v string, p params) string {
	if f.IsNone() {
		return "false"
	}
	text := v + ".position > 0"
	for i, c := range f.Conds() {
		name := v + strconv.Itoa(i)
		text += " AND " + translateCondition(&c, v, "$"+name)
		if c.Op == schemas.AtMost || c.Op == schemas.AtLeast {
			p[name] = c.Number
		} else {
			p[name] = append([]string{}, c.Values...)
		}
	}
	return text
}

// kind says how a facet is stored.
type kind int

const (
	unknown kind = iota
	textFacet
	listFacet
	numberFacet
)

// findProperty returns the name under which a field is stored. Only these names reach a
// statement.
func findProperty(f schemas.Field) (string, kind) {
	switch f {
	case schemas.FieldKind, schemas.FieldType, schemas.FieldCategory, schemas.FieldSession, schemas.FieldSigner:
		return string(f), textFacet
	case schemas.FieldLabels, schemas.FieldGroups, schemas.FieldPurposes:
		return string(f), listFacet
	case schemas.FieldLevel, schemas.FieldTrust, schemas.FieldSensitivity, schemas.FieldPII, schemas.FieldCredentials:
		return string(f), numberFacet
	}
	return "", unknown
}

func translateCondition(c *schemas.Cond, v, value string) string {
	name, kind := findProperty(c.Field)
	at := v + "." + name
	in := at + " IN " + value
	empty := at + " = ''"
	if kind == listFacet {
		in = "any(x IN " + at + " WHERE x IN " + value + ")"
		empty = "size(" + at + ") = 0"
	}
	number := kind == numberFacet
	words := kind == textFacet || kind == listFacet
	switch {
	case c.Op == schemas.AtMost && number:
		return at + " <= " + value
	case c.Op == schemas.AtLeast && number:
		return at + " >= " + value
	case c.Op == schemas.In && words:
		return in
	case c.Op == schemas.NotIn && words:
		return "NOT " + in
	case c.Op == schemas.EmptyOrIn && words:
		return "(" + empty + " OR " + in + ")"
	}
	return "false"
}

// makeProperties returns what is stored of facets, as conditions read it.
func makeProperties(f *schemas.Facets) params {
	list := func(l []string) []string { return append([]string{}, l...) }
	number := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return params{
		string(schemas.FieldKind): string(f.Kind), string(schemas.FieldType): string(f.Type),
		string(schemas.FieldCategory): f.Category, string(schemas.FieldSession): f.Session, string(schemas.FieldSigner): f.Signer,
		string(schemas.FieldLabels): list(f.Labels), string(schemas.FieldGroups): list(f.Groups), string(schemas.FieldPurposes): list(f.Purposes),
		string(schemas.FieldLevel): int64(f.Level), string(schemas.FieldTrust): f.Trust, string(schemas.FieldSensitivity): f.Sensitivity,
		string(schemas.FieldPII): number(f.PII), string(schemas.FieldCredentials): number(f.Credentials),
	}
}
