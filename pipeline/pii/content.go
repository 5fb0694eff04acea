package pii

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"satchel/schemas"
)

// finder masks what it finds of the wanted types and remembers which there were.
type finder struct {
	d     *Detector
	only  []Type   // nil: all
	also  *phrases // masked wherever they stand
	mask  Mask
	types map[Type]int // how many there were
}

func newFinder(d *Detector, mask Mask) *finder {
	return &finder{d: d, mask: mask, types: map[Type]int{}}
}

func (f *finder) findTextSpans(text string) []Span {
	return f.d.findSpans(text, f.only, f.also)
}

func (f *finder) replaceSpans(text string, spans []Span) string {
	for _, s := range spans {
		f.types[s.Type]++
	}
	return Replace(text, spans, f.mask)
}

func (f *finder) countMaskedSpans() (n int) {
	for _, k := range f.types {
		n += k
	}
	return n
}

func (f *finder) maskText(text string) string { return f.replaceSpans(text, f.findTextSpans(text)) }

// maskJSON masks the texts, numbers and member names of a JSON value; changed is false, and
// the value as it was, when nothing was found.
func (f *finder) maskJSON(raw json.RawMessage) (masked json.RawMessage, changed bool) {
	tree, ok := decodeJSON(raw)
	if !ok {
		return raw, false
	}
	before := f.countMaskedSpans()
	tree = f.maskTreeValue(tree)
	if f.countMaskedSpans() == before {
		return raw, false
	}
	out, err := encodeTree(tree)
	if err != nil {
		return json.RawMessage(strconv.Quote(Redacted)), true
	}
	return out, true
}

func (f *finder) maskTreeValue(v any) any {
	switch x := v.(type) {
	case string:
		return f.maskText(x)
	case json.Number:
		if text := f.maskText(x.String()); text != x.String() {
			return text
		}
	case []any:
		for i := range x {
			x[i] = f.maskTreeValue(x[i])
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			child := f.maskMember(name, x[name])
			delete(x, name)
			masked := f.maskText(name)
			for n := 2; ; n++ {
				if _, taken := x[masked]; !taken {
					break
				}
				masked = f.maskText(name) + " " + strconv.Itoa(n)
			}
			x[masked] = child
		}
	}
	return v
}

// maskMember masks the value of a member, whose name may say what it is: {"password": "…"}.
func (f *finder) maskMember(name string, v any) any {
	var text string
	switch x := v.(type) {
	case string:
		text = x
	case json.Number:
		text = x.String()
	case []any: // {"pins": ["4821"]}
		for i := range x {
			x[i] = f.maskMember(strings.TrimSuffix(name, "s"), x[i])
		}
		return x
	case map[string]any: // {"password": {"value": "…"}}
		if inner, ok := x["value"]; ok {
			x["value"] = f.maskMember(name, inner)
		}
		return f.maskTreeValue(x)
	}
	if text == "" || len(name) > 64 {
		return f.maskTreeValue(v)
	}
	head := name + ": "
	spans := f.findTextSpans(head + text)
	if apart := wordsOf(name); len(spans) == 0 && apart != name { // cardPin
		head = apart + ": "
		spans = f.findTextSpans(head + text)
	}
	inside := spans[:0]
	for _, s := range spans {
		if s.Start >= len(head) {
			s.Start = s.Start - len(head)
			s.End = s.End - len(head)
			inside = append(inside, s)
		}
	}
	if len(inside) == 0 {
		return f.maskTreeValue(v)
	}
	return f.replaceSpans(text, inside)
}

// wordsOf sets the words of a name apart: cardPin is card Pin, card_pin card pin.
func wordsOf(name string) string {
	var b strings.Builder
	for i, c := range name {
		switch {
		case c == '_' || c == '-':
			c = ' '
		case i > 0 && unicode.IsUpper(c) && unicode.IsLower(rune(name[i-1])):
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// maskItem masks every field of an item that can hold text of people, and returns the JSON
// pointers of those that it changed.
func (f *finder) maskItem(m *schemas.MemoryItem) (changed []string) {
	if content := f.maskContent(m.Content); content.Text() != m.Content.Text() {
		m.Content = content
		changed = append(changed, "/content")
	}
	if m.Summary != nil {
		if text := f.maskText(m.Summary.Text); text != m.Summary.Text {
			s := *m.Summary
			s.Text = text
			m.Summary = &s
			changed = append(changed, "/summary/text")
		}
	}
	if speaker := f.maskText(m.Speaker); speaker != m.Speaker {
		m.Speaker = speaker
		changed = append(changed, "/speaker")
	}
	if len(m.Attributes) > 0 {
		if raw, did := f.maskJSON(m.Attributes); did {
			m.Attributes = raw
			changed = append(changed, "/attributes")
		}
	}
	if uri := f.maskText(m.Provenance.SourceURI); uri != m.Provenance.SourceURI {
		m.Provenance.SourceURI = strings.NewReplacer("[", "", "]", "").Replace(uri)
		changed = append(changed, "/provenance/source_uri")
	}
	return changed
}

func (f *finder) maskContent(c schemas.Content) schemas.Content {
	if c.Raw() == nil {
		if text := f.maskText(c.Text()); text != c.Text() {
			return schemas.TextContent(text)
		}
		return c
	}
	if raw, changed := f.maskJSON(c.Raw()); changed {
		return schemas.JSONContent(raw)
	}
	return c
}

// Item returns the types found in an item, sorted: in its content, summary, speaker,
// attributes and source.
func (d *Detector) Item(m *schemas.MemoryItem) []Type {
	f := newFinder(d, Mark)
	probe := *m
	f.maskItem(&probe)
	return slices.Sorted(maps.Keys(f.types))
}

// MaskItem replaces what is found in an item and returns the JSON pointers of the fields
// that it changed.
func (d *Detector) MaskItem(m *schemas.MemoryItem, mask Mask) []string {
	return newFinder(d, mask).maskItem(m)
}

// MaskJSON replaces what is found in the texts of a JSON document; what is no JSON is
// taken as text.
func (d *Detector) MaskJSON(data []byte, mask Mask) []byte {
	f := newFinder(d, mask)
	if !json.Valid(data) {
		return []byte(f.maskText(string(data)))
	}
	masked, _ := f.maskJSON(data)
	return masked
}

// encodeTree writes a tree that is still an object or an array.
func encodeTree(tree any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tree); err != nil {
		return nil, err
	}
	raw := bytes.TrimRight(b.Bytes(), "\n")
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
		return nil, errors.New("encode content: neither object nor array")
	}
	return raw, nil
}
