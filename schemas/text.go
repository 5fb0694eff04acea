package schemas

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// SearchText returns what an item is found by: "speaker: text" when it has a
// speaker, and for tools and code the signature fields of its attributes, with the
// names and descriptions of a tool's parameters, before the content. It is a pure function of the item.
func SearchText(m *MemoryItem) string {
	text := m.Content.Text()
	if prefix := searchPrefix(m); prefix != "" {
		return prefix + text
	}
	return text
}

// searchPrefix is what SearchText puts before the content.
func searchPrefix(m *MemoryItem) string {
	switch {
	case m.Speaker != "":
		return m.Speaker + ": "
	case len(m.Attributes) > 0 && (m.Kind == KindTool || m.Kind == KindCode):
		return attributePrefix(m)
	}
	return ""
}

// SearchOffset returns how many bytes of SearchText stand before the content.
func SearchOffset(m *MemoryItem) int { return len(searchPrefix(m)) }

func attributePrefix(m *MemoryItem) string {
	var a struct {
		Name          string `json:"name"`
		QualifiedName string `json:"qualified_name"`
		FilePath      string `json:"file_path"`
		Signature     string `json:"signature"`
		Docstring     string `json:"docstring"`
		Description   string `json:"description"`
		Parameters    struct {
			Properties map[string]struct {
				Description string `json:"description"`
			} `json:"properties"`
		} `json:"parameters"`
	}
	if json.Unmarshal(m.Attributes, &a) != nil {
		return "" // refused by Validate; an item without it has no prefix
	}
	var b strings.Builder
	for _, s := range []string{a.Name, a.QualifiedName, a.FilePath, a.Signature, a.Docstring, a.Description} {
		if s != "" {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Parameters.Properties)) {
		b.WriteString(name)
		if d := a.Parameters.Properties[name].Description; d != "" {
			b.WriteString(": " + d)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
