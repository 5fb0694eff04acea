package testenv

import (
	"cmp"
	"slices"

	"github.com/qdrant/go-client/qdrant"
)

// matching returns the points that pass a filter, in order of id.
func (c *standInCollection) matching(f *qdrant.Filter) []*qdrant.PointStruct {
	var out []*qdrant.PointStruct
	for _, p := range c.points {
		if passes(f, p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *qdrant.PointStruct) int { return cmp.Compare(a.Id.GetUuid(), b.Id.GetUuid()) })
	return out
}

// passes reports whether a point meets a filter; none is met by all.
func passes(f *qdrant.Filter, p *qdrant.PointStruct) bool {
	holds := func(c *qdrant.Condition) bool { return meets(c, p) }
	return !slices.ContainsFunc(f.GetMust(), func(c *qdrant.Condition) bool { return !holds(c) }) &&
		!slices.ContainsFunc(f.GetMustNot(), holds) &&
		(len(f.GetShould()) == 0 || slices.ContainsFunc(f.GetShould(), holds))
}

func meets(c *qdrant.Condition, p *qdrant.PointStruct) bool {
	if nested := c.GetFilter(); nested != nil {
		return passes(nested, p)
	}
	if ids := c.GetHasId(); ids != nil {
		return slices.ContainsFunc(ids.HasId, func(id *qdrant.PointId) bool { return id.GetUuid() == p.Id.GetUuid() })
	}
	if empty := c.GetIsEmpty(); empty != nil {
		return len(values(p.Payload[empty.Key])) == 0
	}
	field := c.GetField()
	return slices.ContainsFunc(values(p.Payload[field.GetKey()]), func(v *qdrant.Value) bool {
		if r := field.GetRange(); r != nil {
			n := v.GetDoubleValue() + float64(v.GetIntegerValue())
			return (r.Lte == nil || n <= *r.Lte) && (r.Gte == nil || n >= *r.Gte)
		}
		words := append(field.GetMatch().GetKeywords().GetStrings(), field.GetMatch().GetKeyword())
		return v.GetStringValue() != "" && slices.Contains(words, v.GetStringValue())
	})
}

// values are a field's value, or the elements of its list.
func values(v *qdrant.Value) []*qdrant.Value {
	if v == nil {
		return nil
	}
	if l := v.GetListValue(); l != nil {
		return l.Values
	}
	return []*qdrant.Value{v}
}
