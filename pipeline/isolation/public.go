package isolation

import (
	"satchel/pipeline/pii"
	"satchel/policies"
	"satchel/schemas"
)

// Public returns an item as a reader without roles may see it, by the built-in policy: the
// record itself when nothing of it is hidden from such a reader. The indexes hold items
// like this, so that no hidden word moves what is found. tenant is the item's. Where the sanitizer
// cannot meet what the policy demands, nothing of the content remains.
func Public(tenant string, z *pii.Sanitizer, r *schemas.Record) *schemas.Record {
	resource := policies.ResourceOf(r)
	paths, obligations := policies.Public(&resource)
	if len(paths) == 0 && obligations.IsZero() {
		return r
	}
	shown := *r
	if !z.Apply(tenant, &shown, paths, obligations) || pii.Whole(r.Content, paths) {
		shown.Content, shown.Speaker, shown.Attributes = schemas.Content{}, "", nil
	}
	return &shown
}

// Unsettled reports whether the built-in policy may hide the whole of an item that its filter lets
// through: when the item ends or is no longer valid, for what it was made of, or because nothing
// remains of it. shown is what Public returns of the item.
func Unsettled(r, shown *schemas.Record) bool {
	return !r.ExpiresAt().IsZero() || !r.ValidTo.IsZero() || r.Kind == schemas.KindSummary ||
		shown != r && shown.Content.Text() == ""
}
