package isolation

import (
	"encoding/json"
	"slices"

	"satchel/pipeline/pii"
	"satchel/policies"
	"satchel/schemas"
)

// Public returns an item as a reader without roles may see it, by the built-in policy: the
// record itself when nothing of it is hidden from such a reader. The indexes hold items
// like this, so that no hidden word moves what is found. tenant is the item's. Where the sanitizer
// cannot meet what the policy demands, nothing of the content remains.
func Public(tenant string, z *pii.Sanitizer, r *schemas.Record) *schemas.Record {
	shown, _ := Analyse(tenant, z, r)
	return shown
}

// Analyse is Public, and reports whether the item was analysed. It was not when that fails, or takes
// more than its bounds allow.
func Analyse(tenant string, z *pii.Sanitizer, r *schemas.Record) (shown *schemas.Record, ok bool) {
	defer func() {
		if recover() != nil {
			shown = Hidden(r)
			ok = false
		}
	}()
	resource := policies.ResourceOf(r)
	paths, obligations := policies.Public(&resource)
	if len(paths) == 0 && obligations.IsZero() {
		return r, true
	}
	part := *r
	if !z.Apply(tenant, &part, paths, obligations) {
		return Hidden(r), false
	}
	if pii.Whole(r.Content, paths) {
		return Hidden(&part), true
	}
	return &part, true
}

// Hidden returns an item of which nobody sees what it says, nor who said it.
func Hidden(r *schemas.Record) *schemas.Record {
	hidden := *r
	hidden.Content = schemas.Content{}
	hidden.Speaker = ""
	hidden.Attributes = nil
	hidden.Summary = nil
	return &hidden
}

// Indexed returns the facets of an item as the indexes have them; shown is what Public returns of it.
// Statistics are of items with these facets, and of no others: an item that they call unsettled
// counts for nobody. They are all that says whom an item counts for.
func Indexed(r, shown *schemas.Record) schemas.Facets {
	f := r.Facets
	if isUnsettled(r, shown) {
		f.Labels = slices.Sorted(slices.Values(append(slices.Clone(f.Labels), schemas.LabelUnsettled)))
	}
	if shown.Category != r.Category || shown != r && shown.Content.Text() == "" {
		f.Category = schemas.CategoryHidden
	}
	return f
}

// Population returns the name of the items that may be compared with one that the indexes have with
// facets f: those of equal facets, so that whoever may see one of them may see them all. It reports
// whether the item itself counts among them.
func Population(f *schemas.Facets) (name string, counts bool) {
	known := *f
	known.Labels = slices.DeleteFunc(slices.Clone(f.Labels), func(l string) bool { return l == schemas.LabelUnsettled })
	b, err := json.Marshal(known)
	if err != nil { // a number that JSON does not have: it is compared with nothing
		return "", false
	}
	return string(b), schemas.MatchAll().Settled().Match(f)
}

// isUnsettled reports whether the built-in policy may hide the whole of an item that its filter lets
// through: when the item ends or is no longer valid, for what it was made of, or because nothing
// remains of it. shown is what Public returns of the item.
func isUnsettled(r, shown *schemas.Record) bool {
	return !r.ExpiresAt().IsZero() || !r.ValidTo.IsZero() || r.Kind == schemas.KindSummary ||
		shown != r && shown.Content.Text() == ""
}
