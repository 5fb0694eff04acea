// Package template renders memories through a named template: a header, a format for
// each memory, a separator and a footer.
//
// It owns the built-in templates (chat, detailed, summary), the check of a template
// when it is registered, and a tenant's registered ones with their authors. Who may
// register one is the caller's to ask policy. It promises that a format is
// read once, when it is parsed: what a memory holds is put in as it is and never read
// as a template, and that a variable it does not know is an error, not an empty text.
//
// The variables are {{content}}, {{type}}, {{confidence}}, {{timestamp}} and
// {{score}}; white space inside the braces is passed over. They belong in the format
// of a memory; a header, separator or footer has none.
package template

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"satchel/pipeline/language"
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

// Values are the values of the variables. Content is put in as it is: the caller has
// made it safe to show.
type Values struct {
	Content    string
	Type       string
	Confidence float64
	Timestamp  time.Time
	Score      float64
}

// Satchel is the author of the built-in templates.
const Satchel = "satchel"

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	spec     schemas.ContextTemplate
	author   string
	builtIn  bool
	sum      string
	parts    []part
	metadata bool // the format names type, confidence or timestamp
	fenced   bool
}

// mostVariables is how many variables a format names: each may be as long as an item.
const mostVariables = 16

// part is literal text, or a variable.
type part struct{ text, name string }

// Parse checks a template of an author. The error is a *FieldError.
func Parse(spec schemas.ContextTemplate, author string) (*Template, error) {
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
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, &FieldError{"memory_format", "is not text"}
	}
	sum := sha256.Sum256(raw)
	t := &Template{spec: spec, author: author, sum: hex.EncodeToString(sum[:])}
	if err := t.parseFormat(); err != nil {
		return nil, err
	}
	return t, nil
}

// parseFormat reads the format of a memory.
func (t *Template) parseFormat() error {
	t.parts = nil
	t.metadata = false
	t.fenced = strings.Contains(t.spec.MemoryFormat, "```")
	rest := t.spec.MemoryFormat
	variables := 0
	for {
		text, after, found := strings.Cut(rest, "{{")
		if text != "" {
			t.parts = append(t.parts, part{text: cleanFixedText(text)})
		}
		if !found {
			break
		}
		name, left, closed := strings.Cut(after, "}}")
		if !closed {
			return &FieldError{"memory_format", "a variable is not closed with }}"}
		}
		name = strings.TrimSpace(name)
		if !slices.Contains(Variables(), name) {
			return &FieldError{"memory_format", fmt.Sprintf("unknown variable %.40q; there are %s", name, strings.Join(Variables(), ", "))}
		}
		variables++
		if variables > mostVariables {
			return &FieldError{"memory_format", fmt.Sprintf("has more than %d variables", mostVariables)}
		}
		t.parts = append(t.parts, part{name: name})
		t.metadata = t.metadata || name == "type" || name == "confidence" || name == "timestamp"
		rest = left
	}
	if !slices.ContainsFunc(t.parts, func(p part) bool { return p.name != "" }) {
		return &FieldError{"memory_format", "names no variable, so every memory would look the same"}
	}
	return nil
}

// Spec returns what the template was parsed from, without what Guard has left out.
func (t *Template) Spec() schemas.ContextTemplate { return t.spec }

// Author returns the principal who wrote the template, Satchel for a built-in one and ""
// where that is not known.
func (t *Template) Author() string { return t.author }

// SHA256 returns the hex hash of the template as its author wrote it.
func (t *Template) SHA256() string { return t.sum }

// leastProbe is the length of the shortest text that can instruct, in bytes.
const leastProbe = 24

// BuiltIn reports whether the template is one that is always there.
func (t *Template) BuiltIn() bool { return t.builtIn }

// Guard returns the template without the fixed parts that injected reports, and names those
// parts: they would be in the prompts of other principals. It judges each part as a
// whole and by its lines, and all parts together. A built-in template stays whole.
func (t *Template) Guard(injected func(text string) bool) (guarded *Template, left []string) {
	if t.builtIn {
		return t, nil
	}
	suspect := func(text string) bool { return len(strings.TrimSpace(text)) >= leastProbe && injected(text) }
	var format strings.Builder
	for _, p := range t.parts {
		format.WriteString(p.text)
	}
	out := *t
	fixed := []struct {
		name, text string
		leave      func()
	}{
		{"header", t.spec.Header, func() { out.spec.Header = "" }},
		{"memory_format", format.String(), func() {
			out.parts = listVariables(t.parts)
			out.fenced = false
		}},
		{"separator", t.spec.Separator, func() { out.spec.Separator = "\n" }},
		{"footer", t.spec.Footer, func() { out.spec.Footer = "" }},
	}
	var all []string
	for _, f := range fixed {
		all = append(all, f.text)
		if suspect(f.text) || slices.ContainsFunc(strings.Split(f.text, "\n"), suspect) {
			f.leave()
			left = append(left, f.name)
		}
	}
	if len(left) > 0 || !suspect(strings.Join(all, " ")) {
		return &out, left
	}
	for _, f := range fixed {
		if strings.TrimSpace(f.text) != "" {
			f.leave()
			left = append(left, f.name)
		}
	}
	return &out, left
}

// listVariables returns the parts that are variables, with a blank between.
func listVariables(parts []part) []part {
	var out []part
	for _, p := range parts {
		if p.name == "" {
			continue
		}
		if len(out) > 0 {
			out = append(out, part{text: " "})
		}
		out = append(out, p)
	}
	return out
}

// Fenced reports whether a memory is in a code fence.
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
			b.WriteString(twoDecimals(v.Score))
		default:
			if metadata {
				b.WriteString(v.formatMetadata(p.name))
			}
		}
	}
	if asked && !t.metadata {
		fmt.Fprintf(&b, " (%s, confidence %s, %s)", v.Type, twoDecimals(v.Confidence), v.formatMetadata("timestamp"))
	}
	return b.String()
}

func (v *Values) formatMetadata(name string) string {
	switch name {
	case "type":
		return v.Type
	case "confidence":
		return twoDecimals(v.Confidence)
	}
	if v.Timestamp.IsZero() {
		return "undated"
	}
	return v.Timestamp.Format(time.RFC3339)
}

func twoDecimals(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// Join puts rendered memories between header and footer; no memories give no text.
func (t *Template) Join(memories []string) string {
	if len(memories) == 0 {
		return ""
	}
	return cleanFixedText(t.spec.Header) + strings.Join(memories, cleanFixedText(t.spec.Separator)) + cleanFixedText(t.spec.Footer)
}

// Apart is a text in which nothing looks like the separator of a template that sets memories apart on one line. Where the marks
// of a sentence do that, they stay.
func (t *Template) Apart(text string) string {
	mark := strings.TrimSpace(t.spec.Separator)
	if mark == "" || strings.Contains(t.spec.Separator, "\n") || strings.Trim(mark, ".,;:") == "" {
		return text
	}
	return strings.ReplaceAll(text, mark, `\`+mark)
}

// cleanFixedText is a text of the template as it is shown: it names no writer of the text behind it.
func cleanFixedText(text string) string { return language.Unsigned(language.Shown(text)) }

// parseBuiltIn parses a template that is always there.
func parseBuiltIn(spec schemas.ContextTemplate) (*Template, error) {
	t, err := Parse(spec, Satchel)
	if err == nil {
		t.builtIn = true
	}
	return t, err
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
