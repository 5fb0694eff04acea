package postgres

import (
	"encoding/json"
	"fmt"
	"strings"

	"satchel/schemas"
)

// FacetColumns are the columns of a table that filters are evaluated on; lists are JSON
// arrays. Where and Facets speak of them.
const FacetColumns = `
	kind        text COLLATE "C" NOT NULL,
	type        text COLLATE "C" NOT NULL,
	category    text COLLATE "C" NOT NULL,
	session     text COLLATE "C" NOT NULL,
	signer      text COLLATE "C" NOT NULL,
	labels      jsonb NOT NULL,
	groups      jsonb NOT NULL,
	purposes    jsonb NOT NULL,
	level       float8 NOT NULL,
	trust       float8 NOT NULL,
	sensitivity float8 NOT NULL,
	pii         float8 NOT NULL,
	credentials float8 NOT NULL`

// FacetNames lists the columns in the order of Facets.Args.
const FacetNames = "kind, type, category, session, signer, labels, groups, purposes, level, trust, sensitivity, pii, credentials"

// FacetUnnest returns the arguments of unnest for Facets.Args, numbered from n, and
// FacetSelect the columns as they are taken from it under the alias u.
func FacetUnnest(n int) string {
	var b strings.Builder
	for i := range 13 {
		kind := "text"
		if i >= 8 {
			kind = "float8"
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d::%s[]", n+i, kind)
	}
	return b.String()
}

// FacetSelect is the columns of FacetUnnest under the alias u, with lists as jsonb.
const FacetSelect = "u.kind, u.type, u.category, u.session, u.signer, u.labels::jsonb, u.groups::jsonb, u.purposes::jsonb, u.level, u.trust, u.sensitivity, u.pii, u.credentials"

// FacetArrays gathers the facets of many rows, column by column. The zero value is empty.
type FacetArrays struct {
	text    [8][]string
	numbers [5][]float64
}

// Add appends the facets of a row.
func (c *FacetArrays) Add(f *schemas.Facets) {
	for i, s := range [8]string{string(f.Kind), string(f.Type), f.Category, f.Session, f.Signer, "", "", ""} {
		c.text[i] = append(c.text[i], ShortText(s))
	}
	for i, list := range [3][]string{f.Labels, f.Groups, f.Purposes} {
		c.text[5+i][len(c.text[5+i])-1] = encodeArray(list)
	}
	flag := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	for i, n := range [5]float64{float64(f.Level), f.Trust, f.Sensitivity, flag(f.PII), flag(f.Credentials)} {
		c.numbers[i] = append(c.numbers[i], n)
	}
}

// Args returns the thirteen columns as arguments for FacetUnnest.
func (c *FacetArrays) Args() []any {
	args := make([]any, 0, 13)
	for i := range c.text {
		args = append(args, c.text[i])
	}
	for i := range c.numbers {
		args = append(args, c.numbers[i])
	}
	return args
}

func encodeArray(list []string) string {
	clean := make([]string, len(list))
	for i, s := range list {
		clean[i] = ShortText(s)
	}
	b, err := json.Marshal(clean)
	if err != nil { // strings always marshal
		return "[]"
	}
	return string(b)
}

// ShortText returns s as Postgres takes it: without NUL, and valid UTF-8.
func ShortText(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "�"), "�")
}

// FilterCondition returns f as a condition on the facet columns of the table alias, its values
// appended to args as parameters. It holds exactly where f matches.
func FilterCondition(f schemas.Filter, alias string, args *[]any) string {
	if f.IsNone() {
		return "false"
	}
	parts := []string{"true"}
	for _, c := range f.Conds() {
		parts = append(parts, translateCondition(c, alias, args))
	}
	return strings.Join(parts, " AND ")
}

func translateCondition(c schemas.Cond, alias string, args *[]any) string {
	column := alias + "." + string(c.Field)
	param := func(v any) string {
		*args = append(*args, v)
		return fmt.Sprintf("$%d", len(*args))
	}
	any := ""
	empty := ""
	switch c.Field {
	case schemas.FieldLabels, schemas.FieldGroups, schemas.FieldPurposes:
		any = column + " ?| %s::text[]"
		empty = column + " = '[]'"
	case schemas.FieldKind, schemas.FieldType, schemas.FieldCategory, schemas.FieldSession, schemas.FieldSigner:
		any = column + " = ANY (%s::text[])"
		empty = column + " = ''"
	case schemas.FieldLevel, schemas.FieldTrust, schemas.FieldSensitivity, schemas.FieldPII, schemas.FieldCredentials:
		switch c.Op {
		case schemas.AtMost:
			return column + " <= " + param(c.Number) + "::float8"
		case schemas.AtLeast:
			return column + " >= " + param(c.Number) + "::float8"
		}
		return "false"
	default:
		return "false"
	}
	values := make([]string, len(c.Values))
	for i, v := range c.Values {
		values[i] = ShortText(v)
	}
	switch c.Op {
	case schemas.In:
		return "(" + fmt.Sprintf(any, param(values)) + ")"
	case schemas.NotIn:
		return "NOT (" + fmt.Sprintf(any, param(values)) + ")"
	case schemas.EmptyOrIn:
		return "(" + empty + " OR " + fmt.Sprintf(any, param(values)) + ")"
	}
	return "false"
}
