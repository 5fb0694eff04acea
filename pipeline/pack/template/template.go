// Package template renders memories through a named template: a header, a format for
// each memory, a separator and a footer.
//
// It owns the built-in templates (chat, detailed, summary), the check of a template
// when it is registered, and a tenant's registered ones. It promises that a format is
// read once, when it is parsed: what a memory holds is put in as it is and never read
// as a template, and that a variable it does not know is an error, not an empty text.
//
// The variables are {{content}}, {{type}}, {{confidence}}, {{timestamp}} and
// {{score}}; white space inside the braces is passed over. They belong in the format
// of a memory; a header, separator or footer has none.
package template

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/schemas"
)

// ErrTemplate is what every refusal of a template wraps.
var ErrTemplate = errors.New("not a valid template")

// FieldError says what is wrong in which field of a template.
type FieldError struct {
	Field   string // JSON name
	Message string
}

// Error returns the field and the message.
func (e *FieldError) Error() string { return e.Field + ": " + e.Message }

// Unwrap returns ErrTemplate.
func (e *FieldError) Unwrap() error { return ErrTemplate }

// Variables lists what a memory's format may name.
func Variables() []string { return []string{"content", "type", "confidence", "timestamp", "score"} }

// Values are what the variables stand for. Content is put in as it is: the caller has
// made it safe to show.
type Values struct {
	Content    string
	Type       string
	Confidence float64
	Timestamp  time.Time
	Score      float64
}

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	spec     schemas.ContextTemplate
	parts    []part
	metadata bool // the format names type, confidence or timestamp
	fenced   bool
}

// part is literal text, or a variable.
type part struct{ text, name string }

// Parse checks a template. The error is a *FieldError.
func Parse(spec schemas.ContextTemplate) (*Template, error) {
	for _, f := range []struct{ name, text string }{
		{"header", spec.Header}, {"separator", spec.Separator}, {"footer", spec.Footer},
	} {
		if strings.Contains(f.text, "{{") {
			return nil, &FieldError{f.name, "variables belong in memory_format"}
		}
	}
	if spec.MemoryFormat == "" {
		return nil, &FieldError{"memory_format", "is required"}
	}
	t := &Template{spec: spec, fenced: strings.Contains(spec.MemoryFormat, "```")}
	rest := spec.MemoryFormat
	for {
		text, after, found := strings.Cut(rest, "{{")
		if text != "" {
			t.parts = append(t.parts, part{text: text})
		}
		if !found {
			break
		}
		name, left, closed := strings.Cut(after, "}}")
		if !closed {
			return nil, &FieldError{"memory_format", "a variable is not closed with }}"}
		}
		name = strings.TrimSpace(name)
		if !slices.Contains(Variables(), name) {
			return nil, &FieldError{"memory_format", fmt.Sprintf("unknown variable %.40q; there are %s", name, strings.Join(Variables(), ", "))}
		}
		t.parts = append(t.parts, part{name: name})
		t.metadata = t.metadata || name == "type" || name == "confidence" || name == "timestamp"
		rest = left
	}
	if !slices.ContainsFunc(t.parts, func(p part) bool { return p.name != "" }) {
		return nil, &FieldError{"memory_format", "names no variable, so every memory would look the same"}
	}
	return t, nil
}

// Spec returns what the template was parsed from.
func (t *Template) Spec() schemas.ContextTemplate { return t.spec }

// Fenced reports whether a memory stands in a code fence.
func (t *Template) Fenced() bool { return t.fenced }

// Memory renders one memory. Type, confidence and timestamp are filled when the
// template or the call asks for metadata, and empty otherwise; a format that names
// none of them gets them at its end when the call asks.
func (t *Template) Memory(v Values, metadata bool) string {
	var b strings.Builder
	asked := metadata
	metadata = metadata || t.spec.IncludeMetadata
	for _, p := range t.parts {
		switch p.name {
		case "":
			b.WriteString(p.text)
		case "content":
			b.WriteString(v.Content)
		case "score":
			b.WriteString(number(v.Score))
		default:
			if metadata {
				b.WriteString(v.metadata(p.name))
			}
		}
	}
	if asked && !t.metadata {
		fmt.Fprintf(&b, " (%s, confidence %s, %s)", v.Type, number(v.Confidence), v.metadata("timestamp"))
	}
	return b.String()
}

func (v *Values) metadata(name string) string {
	switch name {
	case "type":
		return v.Type
	case "confidence":
		return number(v.Confidence)
	}
	if v.Timestamp.IsZero() {
		return "undated"
	}
	return v.Timestamp.UTC().Format(time.RFC3339)
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// Join puts rendered memories between header and footer; no memories give no text.
func (t *Template) Join(memories []string) string {
	if len(memories) == 0 {
		return ""
	}
	return t.spec.Header + strings.Join(memories, t.spec.Separator) + t.spec.Footer
}

// BuiltIn returns the templates that are always there.
func BuiltIn() []schemas.ContextTemplate {
	return []schemas.ContextTemplate{
		{
			Name: "chat", Header: "Relevant context from past conversations:\n\n",
			MemoryFormat: "- {{content}}", Separator: "\n", Footer: "\n",
		},
		{
			Name: "detailed", Header: "Relevant memories:\n\n",
			MemoryFormat: "[{{type}}] {{content}} (confidence: {{confidence}}, {{timestamp}})",
			Separator:    "\n\n", Footer: "\n", IncludeMetadata: true,
		},
		{Name: "summary", Header: "Key information:\n", MemoryFormat: "{{content}}", Separator: " | "},
	}
}
