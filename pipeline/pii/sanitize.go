package pii

import (
	"encoding/json"
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

// Marks returns a Sanitizer that leaves marks in place of the standard types of personal data,
// with no pseudonyms. count is that of NewSanitizer.
func Marks(count func(text string) int) *Sanitizer {
	return NewSanitizer(newDetector(Config{}), Pseudonyms{}, count)
}

// Apply changes r, of tenant, so that paths and the obligations are met. It reports
// whether it could: what it does not understand is not met, nor is what flags more values than can
// be looked for, and then r MUST NOT be shown.
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
	values, ok := z.redactFields(r, paths, o, mask)
	if !ok {
		return false
	}
	if o.PII != "" || len(names) > 0 || len(values) > 0 {
		also, ok := phrasesOf(names, values)
		if !ok {
			return false
		}
		f := newFinder(z.detector, mask)
		f.only = only
		f.also = also
		if o.PII == "" {
			f.only = []Type{} // what is flagged alone
		}
		f.maskItem(&r.MemoryItem)
	}
	if o.Summarise > 0 {
		r.Content = schemas.TextContent(z.makeExtract(r.Content.Text(), o.Summarise))
		r.Attributes = nil
	}
	return true
}

// leastValue is the shortest value, in bytes, that is also looked for beside its path: a
// shorter one stands in too many texts by chance.
const leastValue = 4

// mostValue is the longest: nobody repeats a longer one word for word.
const mostValue = 512

// redactFields replaces what the paths name, in every field that can be shown. It returns the
// values that it took out of the content: a writer may have repeated one elsewhere. ok is false when
// the paths take more steps than they may.
func (z *Sanitizer) redactFields(r *schemas.Record, paths []string, o schemas.Obligations, mask Mask) (values []string, ok bool) {
	if len(paths) == 0 {
		return nil, true
	}
	r.Content, ok = redactPaths(r.Content, paths, func(t Type, text string) string {
		values = append(values, listLeaves(text)...)
		return mask(t, text)
	})
	slices.Sort(values)
	values = slices.Compact(values)
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
	if namesField(paths, "category") {
		r.Category = ""
	}
	if namesField(paths, "graph_refs") {
		r.GraphRefs = nil
	}
	if namesField(paths, "embedding_ref") {
		r.EmbeddingRef = ""
	}
	return values, ok
}

// listLeaves returns the texts and numbers of a value, when they can be looked for.
func listLeaves(text string) (list []string) {
	if tree, ok := decodeJSON([]byte(text)); ok {
		var walk func(v any)
		walk = func(v any) {
			switch x := v.(type) {
			case string:
				list = append(list, x)
			case json.Number:
				list = append(list, x.String())
			case []any:
				for _, e := range x {
					walk(e)
				}
			case map[string]any:
				for _, e := range x {
					walk(e)
				}
			}
		}
		walk(tree)
	} else {
		list = []string{text}
	}
	return slices.DeleteFunc(list, func(s string) bool { return len(s) < leastValue || len(s) > mostValue })
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

// makeExtract returns the beginning of text that has at most n tokens, with a mark that more
// was there, cut behind a sentence or else a word.
func (z *Sanitizer) makeExtract(text string, n int) string {
	if z.count(text) <= n {
		return text
	}
	const more = " […]"
	low := 0
	high := min(len(text), 8*n+16)
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
	part = strings.TrimSpace(part)
	if part == "" {
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
