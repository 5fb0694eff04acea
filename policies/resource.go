package policies

import "satchel/schemas"

// ResourceOf returns what policy sees of a stored item.
func ResourceOf(r *schemas.Record) Resource {
	return Resource{
		ID:        r.ID,
		Facets:    r.Facets,
		PIIFlags:  r.PIIFlags,
		ExpiresAt: r.ExpiresAt(),
		ValidTo:   r.ValidTo,
		CreatedAt: r.CreatedAt,
	}
}
