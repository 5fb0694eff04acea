package policies

import "satchel/schemas"

// ResourceOf returns what policy sees of a stored item.
func ResourceOf(r *schemas.Record) Resource {
	out := Resource{
		ID:        r.ID,
		Facets:    r.Facets,
		PIIFlags:  r.PIIFlags,
		ExpiresAt: r.ExpiresAt(),
		ValidTo:   r.ValidTo,
		CreatedAt: r.CreatedAt,
	}
	if r.Kind == schemas.KindSummary {
		for _, l := range r.Links {
			if l.Rel == schemas.RelDerivedFrom {
				out.Sources = append(out.Sources, l.To)
			}
		}
	}
	return out
}
