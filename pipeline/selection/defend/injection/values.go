package injection

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Bounds of the values that are read of one text.
const (
	mostValues   = 256
	shortestText = 16 // bytes of a value that can instruct
	deepest      = 32 // levels of JSON, and of JSON within its strings
	mostPairs    = 16 // named values of a log line
)

// values returns the texts within JSON, or within a log's lines: first all of them as one
// text, then each that is long enough to instruct. It returns none for plain text.
func values(text string) []string {
	v := collected{}
	trimmed := strings.TrimSpace(text)
	if !v.json(trimmed, 0) {
		for line := range strings.Lines(trimmed) {
			v.line(strings.TrimSpace(line))
		}
	}
	if len(v.texts) == 0 {
		return nil
	}
	return append([]string{strings.Join(v.texts, "\n")}, slices.DeleteFunc(v.texts, func(s string) bool { return len(s) < shortestText })...)
}

type collected struct{ texts []string }

func (v *collected) add(text string) {
	if text = strings.TrimSpace(text); text != "" && len(v.texts) < mostValues {
		v.texts = append(v.texts, text)
	}
}

// json collects the strings of a JSON document, and reports whether text is one.
func (v *collected) json(text string, depth int) bool {
	if text == "" || text[0] != '{' && text[0] != '[' || depth > deepest {
		return false
	}
	var tree any
	if json.Unmarshal([]byte(text), &tree) != nil {
		return false
	}
	v.walk(tree, depth)
	return true
}

func (v *collected) walk(tree any, depth int) {
	if depth > deepest {
		return
	}
	switch x := tree.(type) {
	case string:
		if !v.json(strings.TrimSpace(x), depth+1) {
			v.add(x)
		}
	case []any:
		for _, child := range x {
			v.walk(child, depth+1)
		}
	case map[string]any:
		names := make([]string, 0, len(x))
		for name := range x {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			v.walk(x[name], depth+1)
		}
	}
}

// logHead is what a line of a log begins with: a time, perhaps in brackets, and then
// perhaps a level, a host and a program.
var logHead = regexp.MustCompile(`^[\[(]?(?:\d{4}[-/]\d\d[-/]\d\d[T ]|[A-Z][a-z]{2} [ \d]\d |\d\d/[A-Z][a-z]{2}/\d{4}:)?\d\d:\d\d:\d\d\S*(?: [+-]\d{4})?[\])]?\s+(?:[\[(]?(?i:trace|debug|info|notice|warn|warning|error|fatal|critical)[\])]?:?\s+)?`)

// logPair is a named value of a log line in quotes.
var logPair = regexp.MustCompile(`\b[\w.]+=("(?:[^"\\]|\\.)*")`)

func (v *collected) line(line string) {
	if line == "" || v.json(line, 0) {
		return
	}
	head := ""
	if digit(line[0]) || line[0] == '[' || line[0] == '(' || len(line) > 3 && line[3] == ' ' {
		head = logHead.FindString(line)
	}
	var pairs [][]string
	if strings.Contains(line, `="`) {
		pairs = logPair.FindAllStringSubmatch(line, mostPairs)
	}
	if head == "" && len(pairs) < 2 {
		return
	}
	for _, pair := range pairs {
		var value string
		if json.Unmarshal([]byte(pair[1]), &value) == nil && !v.json(strings.TrimSpace(value), 1) {
			v.add(value)
		}
	}
	if rest := line[len(head):]; head != "" && !v.json(rest, 0) {
		v.add(rest)
	}
}
