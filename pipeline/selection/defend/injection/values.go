package injection

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Bounds of what is read of one text.
const (
	mostParts    = 256 // parts that are judged one by one
	shortestPart = 16  // bytes of a part that can instruct
	longestName  = 64  // bytes of a word that may be a name, an id or a digest
	deepest      = 32  // levels of JSON within the strings of JSON
	mostPairs    = 16  // named values of a log line
)

// reading is how a text is judged.
type reading struct {
	bodies []string // each as the text that it is
	parts  []string // each by itself, and only where it is beyond doubt
}

// readText returns the reading of a text. The body of JSON, or of lines of JSON, is what its strings
// say: names, marks and single words are no prose, and are parts. A log is read as it stands and
// by the values in it. Other text is one body.
func readText(text string) reading {
	var v collected
	if v.collectDocument(text) {
		return reading{[]string{v.joinProse()}, v.listParts()}
	}
	for line := range strings.Lines(text) {
		v.collectLine(strings.TrimSpace(line))
	}
	if len(v.prose)+len(v.names) == 0 {
		return reading{bodies: []string{text}}
	}
	return reading{[]string{text, v.joinProse()}, v.listParts()}
}

// readBody returns the body of JSON, and other text as it is.
func readBody(text string) string {
	var v collected
	if v.collectDocument(text) {
		return v.joinProse()
	}
	return text
}

// collected is what was found in JSON and in the lines of a log.
type collected struct {
	prose []string // texts of several words, in another script or longer than a name
	names []string // names of members, and values of one word
}

func (v *collected) joinProse() string { return strings.Join(v.prose, "\n") }

// listParts returns what a reader may take for a text of its own, and all of them as one sentence.
// The one text of a body is not read twice.
func (v *collected) listParts() []string {
	var out []string
	add := func(part string) {
		if len(part) >= shortestPart {
			out = append(out, part)
		}
	}
	for _, list := range [][]string{v.prose, v.names} {
		if len(list) > 1 {
			add(strings.Join(list, " "))
		}
	}
	if len(v.prose) > 1 {
		for _, part := range v.prose[:min(len(v.prose), mostParts)] {
			add(part)
		}
	}
	for _, part := range v.names[:min(len(v.names), mostParts)] {
		add(part)
	}
	return out
}

// spaced sets the words of a name apart.
var spaced = strings.NewReplacer("_", " ", "-", " ", ".", " ")

func (v *collected) addString(text string) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
	case len(text) > longestName || strings.ContainsFunc(text, unlikeName):
		v.prose = append(v.prose, text)
	default:
		if plain := decodeRuns(text); plain != "" {
			v.prose = append(v.prose, plain)
		}
		v.names = append(v.names, spaced.Replace(text))
	}
}

// unlikeName reports whether a character stands in no name of a program.
func unlikeName(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf }

// collectDocument collects the strings of JSON, or of lines of JSON, and reports whether text is that.
func (v *collected) collectDocument(text string) bool {
	text = strings.TrimSpace(text)
	if v.collectJSON(text, 0) {
		return true
	}
	var lines collected
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !lines.collectJSON(line, 0) {
			return false
		}
	}
	*v = lines
	return text != ""
}

// collectJSON collects the strings of a JSON document, and reports whether text is one.
func (v *collected) collectJSON(text string, depth int) bool {
	if text == "" || text[0] != '{' && text[0] != '[' || depth > deepest || !json.Valid([]byte(text)) {
		return false
	}
	for at := strings.IndexByte(text, '"'); at >= 0; at = strings.IndexByte(text, '"') {
		end := at + 1
		for ; text[end] != '"'; end++ {
			if text[end] == '\\' {
				end++
			}
		}
		var value string
		if json.Unmarshal([]byte(text[at:end+1]), &value) == nil && !v.collectJSON(strings.TrimSpace(value), depth+1) {
			v.addString(value)
		}
		text = text[end+1:]
	}
	return true
}

// logHead is what a line of a log begins with: a time, perhaps in brackets, and then
// perhaps a level, a host and a program.
var logHead = regexp.MustCompile(`^[\[(]?(?:\d{4}[-/]\d\d[-/]\d\d[T ]|[A-Z][a-z]{2} [ \d]\d |\d\d/[A-Z][a-z]{2}/\d{4}:)?\d\d:\d\d:\d\d\S*(?: [+-]\d{4})?[\])]?\s+(?:[\[(]?(?i:trace|debug|info|notice|warn|warning|error|fatal|critical)[\])]?:?\s+)?`)

// logPair is a named value of a log line in quotes.
var logPair = regexp.MustCompile(`\b[\w.]+=("(?:[^"\\]|\\.)*")`)

func (v *collected) collectLine(line string) {
	if line == "" || v.collectJSON(line, 0) {
		return
	}
	head := ""
	if isDigitByte(line[0]) || line[0] == '[' || line[0] == '(' || len(line) > 3 && line[3] == ' ' {
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
		if json.Unmarshal([]byte(pair[1]), &value) == nil && !v.collectJSON(strings.TrimSpace(value), 1) {
			v.addString(value)
		}
	}
	if rest := line[len(head):]; head != "" && !v.collectJSON(rest, 0) {
		v.addString(rest)
	}
}
