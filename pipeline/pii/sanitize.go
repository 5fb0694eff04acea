package pii

import (
	"slices"
	"strings"
	"unicode/utf8"

	"satchel/schemas"
)

// Sanitizer does to a record what a policy decision demands. It is safe for concurrent
// use.
type Sanitizer struct {
	detector   *Detector
	pseudonyms Pseudonyms
	count      func(text string) int
}

// NewSanitizer returns a Sanitizer. count counts tokens; nil: a token for every four
// bytes.
func NewSanitizer(d *Detector, p Pseudonyms, count func(text string) int) *Sanitizer {
	if count == nil {
		count = func(text string) int { return (len(text) + 3) / 4 }
	}
	return &Sanitizer{detector: d, pseudonyms: p, count: count}
}

// Apply changes r, of tenant, so that paths and the obligations are met. It reports
// whether it could: what it does not understand is not met, and then r MUST NOT be shown.
func (z *Sanitizer) Apply(tenant string, r *schemas.Record, paths []string, o schemas.Obligations) bool {
	mask := Mask(Mark)
	switch o.PII {
	case "", schemas.PIIRedact:
	case schemas.PIIPseudonymise:
		if len(z.pseudonyms.key) == 0 {
			return false
		}
		mask = z.pseudonyms.Of(tenant)
	default:
		return false
	}
	only, ok := typesOf(o.Types)
	if !ok || o.Summarise < 0 {
		return false
	}
	if len(paths) == 0 && o.IsZero() {
		return true
	}
	r.Tokens = 0 // it was counted with what goes
	r.Summary = nil
	var names []string
	if namesField(paths, "speaker") {
		names = []string{r.Speaker}
		if full := strings.Fields(r.Speaker); len(full) > 1 {
			names = append(names, full...)
		}
	}
	z.fields(r, paths, o, mask)
	if o.PII != "" || len(names) > 0 {
		f := newFinder(z.detector, mask)
		f.only, f.names = only, names
		if o.PII == "" {
			f.only = []Type{} // the flagged names alone
		}
		f.item(&r.MemoryItem)
	}
	if o.Summarise > 0 {
		r.Content = schemas.TextContent(z.extract(r.Content.Text(), o.Summarise))
		r.Attributes = nil
	}
	return true
}

// fields replaces what the paths name, in every field that can be shown.
func (z *Sanitizer) fields(r *schemas.Record, paths []string, o schemas.Obligations, mask Mask) {
	if len(paths) == 0 {
		return
	}
	r.Content = Redact(r.Content, paths, mask)
	if namesField(paths, "speaker") {
		if o.PII == schemas.PIIPseudonymise && r.Speaker != "" {
			r.Speaker = mask(Person, r.Speaker)
		} else {
			r.Speaker = ""
		}
	}
	if namesField(paths, "attributes") {
		r.Attributes = nil
	}
	if namesField(paths, "links") {
		r.Links = nil
	}
	if namesField(paths, "provenance") {
		r.Provenance.SourceURI = ""
	}
}

func typesOf(list []string) (types []Type, ok bool) {
	for _, name := range list {
		if !slices.Contains(Types(), Type(name)) {
			return nil, false
		}
		types = append(types, Type(name))
	}
	return types, true
}

// extract returns the beginning of text that has at most n tokens, with a mark that more
// was there, cut behind a sentence or else a word.
func (z *Sanitizer) extract(text string, n int) string {
	if z.count(text) <= n {
		return text
	}
	const more = " […]"
	low, high := 0, min(len(text), 8*n+16)
	for low < high { // the longest prefix that fits; counting is monotonic enough for that
		mid := (low + high + 1) / 2
		if z.count(text[:runeEnd(text, mid)]+more) <= n {
			low = mid
		} else {
			high = mid - 1
		}
	}
	part := text[:runeEnd(text, low)]
	if cut := strings.LastIndexAny(part, ".!?\n"); cut > len(part)/2 {
		part = part[:cut+1]
	} else if cut := strings.LastIndexByte(part, ' '); cut > 0 {
		part = part[:cut]
	}
	if part = strings.TrimSpace(part); part == "" {
		return "[…]"
	}
	return part + more
}

// runeEnd moves i back to the border of a character.
func runeEnd(text string, i int) int {
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}
