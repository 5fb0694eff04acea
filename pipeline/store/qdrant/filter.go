package qdrant

import (
	"slices"

	client "github.com/qdrant/go-client/qdrant"

	"satchel/schemas"
)

// translateFilter returns the condition of a tenant and f; false when nothing can pass it.
func translateFilter(tenant string, f schemas.Filter) (*client.Filter, bool) {
	if f.IsNone() {
		return nil, false
	}
	out := &client.Filter{Must: []*client.Condition{client.NewMatchKeyword(fieldTenant, tenant)}}
	for _, c := range f.Conds() {
		if !addCondition(out, &c) {
			return nil, false
		}
	}
	return out, true
}

// isList and isText say how a field is stored; isNumber is the rest that there is.
func isList(f schemas.Field) bool {
	return f == schemas.FieldLabels || f == schemas.FieldGroups || f == schemas.FieldPurposes
}

func isText(f schemas.Field) bool {
	switch f {
	case schemas.FieldKind, schemas.FieldType, schemas.FieldCategory, schemas.FieldSession, schemas.FieldSigner:
		return true
	}
	return false
}

func isNumber(f schemas.Field) bool {
	switch f {
	case schemas.FieldLevel, schemas.FieldTrust, schemas.FieldSensitivity, schemas.FieldPII, schemas.FieldCredentials:
		return true
	}
	return false
}

// addCondition adds a condition to out; false when it never holds.
func addCondition(out *client.Filter, c *schemas.Cond) bool {
	field := string(c.Field)
	switch {
	case c.Op == schemas.AtMost && isNumber(c.Field):
		out.Must = append(out.Must, client.NewRange(field, &client.Range{Lte: client.PtrOf(c.Number)}))
		return true
	case c.Op == schemas.AtLeast && isNumber(c.Field):
		out.Must = append(out.Must, client.NewRange(field, &client.Range{Gte: client.PtrOf(c.Number)}))
		return true
	case !isText(c.Field) && !isList(c.Field):
		return false
	}
	// An empty text is stored as none; no element of a list is empty.
	var any []*client.Condition
	values := slices.DeleteFunc(slices.Clone(c.Values), func(v string) bool { return v == "" })
	if len(values) > 0 {
		any = append(any, client.NewMatchKeywords(field, values...))
	}
	if isText(c.Field) && len(values) < len(c.Values) || c.Op == schemas.EmptyOrIn {
		any = append(any, client.NewIsEmpty(field))
	}
	switch c.Op {
	case schemas.In, schemas.EmptyOrIn:
		if len(any) == 0 {
			return false
		}
		out.Must = append(out.Must, client.NewFilterAsCondition(&client.Filter{Should: any}))
	case schemas.NotIn:
		out.MustNot = append(out.MustNot, any...)
	default:
		return false
	}
	return true
}
