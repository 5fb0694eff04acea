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

func (f *finder) spans(text string) []Span {
	return f.d.find(text, f.only, f.also)
}

func (f *finder) replace(text string, spans []Span) string {
	for _, s := range spans {
		f.types[s.Type]++
	}
	return Replace(text, spans, f.mask)
}

func (f *finder) total() (n int) {
	for _, k := range f.types {
		n += k
	}
	return n
}

func (f *finder) text(text string) string { return f.replace(text, f.spans(text)) }

// json masks the texts, numbers and member names of a JSON value; changed is false, and
// the value as it was, when nothing was found.
func (f *finder) json(raw json.RawMessage) (masked json.RawMessage, changed bool) {
	tree, ok := decodeJSON(raw)
	if !ok {
		return raw, false
	}
	before := f.total()
	if tree = f.value(tree); f.total() == before {
		return raw, false
	}
	out, err := encode(tree)
	if err != nil {
		return json.RawMessage(strconv.Quote(Redacted)), true
	}
	return out, true
}

func (f *finder) value(v any) any {
	switch x := v.(type) {
	case string:
		return f.text(x)
	case json.Number:
		if text := f.text(x.String()); text != x.String() {
			return text
		}
	case []any:
		for i := range x {
			x[i] = f.value(x[i])
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			child := f.member(name, x[name])
			delete(x, name)
			masked := f.text(name)
			for n := 2; ; n++ {
				if _, taken := x[masked]; !taken {
					break
				}
				masked = f.text(name) + " " + strconv.Itoa(n)
			}
			x[masked] = child
		}
	}
	return v
}

// member masks the value of a member, whose name may say what it is: {"password": "…"}.
func (f *finder) member(name string, v any) any {
	var text string
	switch x := v.(type) {
	case string:
		text = x
	case json.Number:
		text = x.String()
	case []any: // {"pins": ["4821"]}
		for i := range x {
			x[i] = f.member(strings.TrimSuffix(name, "s"), x[i])
		}
		return x
	case map[string]any: // {"password": {"value": "…"}}
		if inner, ok := x["value"]; ok {
			x["value"] = f.member(name, inner)
		}
		return f.value(x)
	}
	if text == "" || len(name) > 64 {
		return f.value(v)
	}
	head := name + ": "
	spans := f.spans(head + text)
	if apart := wordsOf(name); len(spans) == 0 && apart != name { // cardPin
		head = apart + ": "
		spans = f.spans(head + text)
	}
	inside := spans[:0]
	for _, s := range spans {
		if s.Start >= len(head) {
			s.Start, s.End = s.Start-len(head), s.End-len(head)
			inside = append(inside, s)
		}
	}
	if len(inside) == 0 {
		return f.value(v)
	}
	return f.replace(text, inside)
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

// item masks every field of an item that can hold text of people, and returns the JSON
// pointers of those that it changed.
func (f *finder) item(m *schemas.MemoryItem) (changed []string) {
	if content := f.content(m.Content); content.Text() != m.Content.Text() {
		m.Content, changed = content, append(changed, "/content")
	}
	if m.Summary != nil {
		if text := f.text(m.Summary.Text); text != m.Summary.Text {
			s := *m.Summary
			s.Text = text
			m.Summary, changed = &s, append(changed, "/summary/text")
		}
	}
	if speaker := f.text(m.Speaker); speaker != m.Speaker {
		m.Speaker, changed = speaker, append(changed, "/speaker")
	}
	if len(m.Attributes) > 0 {
		if raw, did := f.json(m.Attributes); did {
			m.Attributes, changed = raw, append(changed, "/attributes")
		}
	}
	if uri := f.text(m.Provenance.SourceURI); uri != m.Provenance.SourceURI {
		m.Provenance.SourceURI, changed = strings.NewReplacer("[", "", "]", "").Replace(uri), append(changed, "/provenance/source_uri")
	}
	return changed
}

func (f *finder) content(c schemas.Content) schemas.Content {
	if c.Raw() == nil {
		if text := f.text(c.Text()); text != c.Text() {
			return schemas.TextContent(text)
		}
		return c
	}
	if raw, changed := f.json(c.Raw()); changed {
		return schemas.JSONContent(raw)
	}
	return c
}

// Item returns the types found in an item, sorted: in its content, summary, speaker,
// attributes and source.
func (d *Detector) Item(m *schemas.MemoryItem) []Type {
	f := newFinder(d, Mark)
	probe := *m
	f.item(&probe)
	return slices.Sorted(maps.Keys(f.types))
}

// MaskItem replaces what is found in an item and returns the JSON pointers of the fields
// that it changed.
func (d *Detector) MaskItem(m *schemas.MemoryItem, mask Mask) []string {
	return newFinder(d, mask).item(m)
}

// MaskJSON replaces what is found in the texts of a JSON document; what is no JSON is
// taken as text.
func (d *Detector) MaskJSON(data []byte, mask Mask) []byte {
	f := newFinder(d, mask)
	if !json.Valid(data) {
		return []byte(f.text(string(data)))
	}
	masked, _ := f.json(data)
	return masked
}

// encode writes a tree that is still an object or an array.
func encode(tree any) (json.RawMessage, error) {
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
