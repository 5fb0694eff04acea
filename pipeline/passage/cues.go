package passage

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"satchel/pipeline/language"
	"satchel/schemas"
)

// Cues are what the wording of a question says about the passages that answer it, in one
// language. A question in another language matches none, and nothing changes.
type Cues struct {
	stop map[string]bool
	many *regexp.Regexp // matches questions that want many items; nil: none does
	list []cue
}

// cue adds a weight to passages.
type cue struct {
	number   int // its place in the list
	name     string
	question *regexp.Regexp
	passage  *regexp.Regexp // nil: every passage
	kinds    []schemas.Kind // nil: every kind
	weight   float64
}

// DefaultCues returns those for questions in English.
func DefaultCues() (Cues, error) { return compile(language.Default().Cues()) }

// ReadCues reads a file of cues.
func ReadCues(file string) (Cues, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return Cues{}, fmt.Errorf("read cues: %w", err)
	}
	return ParseCues(raw)
}

// ParseCues reads cues in YAML: see the end of language/lexicon/en.yaml.
func ParseCues(raw []byte) (Cues, error) {
	var in language.Cues
	if err := yaml.UnmarshalWithOptions(raw, &in, yaml.Strict()); err != nil {
		return Cues{}, fmt.Errorf("parse cues: %w", err)
	}
	return compile(in)
}

// compile makes cues of what a file says.
func compile(in language.Cues) (Cues, error) {
	out := Cues{stop: map[string]bool{}}
	for w := range strings.FieldsSeq(in.Stop) {
		out.stop[w] = true
	}
	if in.Many != "" {
		var err error
		if out.many, err = regexp.Compile("(?i)" + in.Many); err != nil {
			return Cues{}, fmt.Errorf("parse cues: many: %w", err)
		}
	}
	for n, c := range in.Cues {
		read := cue{number: n, name: c.Name, weight: c.Weight}
		var err error
		if c.Question == "" || c.Name == "" {
			return Cues{}, fmt.Errorf("parse cues: cue %q needs a name and a question", c.Name)
		}
		if read.question, err = regexp.Compile("(?i)" + c.Question); err != nil {
			return Cues{}, fmt.Errorf("parse cues: question of %q: %w", c.Name, err)
		}
		if c.Passage != "" {
			if read.passage, err = regexp.Compile(c.Passage); err != nil {
				return Cues{}, fmt.Errorf("parse cues: passage of %q: %w", c.Name, err)
			}
		}
		for _, name := range c.Kinds {
			kind := schemas.Kind(name)
			if _, ok := kind.Info(); !ok {
				return Cues{}, fmt.Errorf("parse cues: kind %q of %q is not known", name, c.Name)
			}
			read.kinds = append(read.kinds, kind)
		}
		out.list = append(out.list, read)
	}
	return out, nil
}

// findCues returns the cues that a question gives.
func (c *Cues) findCues(question string) []cue {
	var out []cue
	for _, one := range c.list {
		if one.question.MatchString(question) {
			out = append(out, one)
		}
	}
	return out
}

// scoreItemKind is what a cue adds to every passage of an item of a kind.
func (c *cue) scoreItemKind(kind schemas.Kind) float64 {
	if c.passage == nil && (len(c.kinds) == 0 || slices.Contains(c.kinds, kind)) {
		return c.weight
	}
	return 0
}

// canReadKind reports whether a cue is about what passages of a kind say.
func (c *cue) canReadKind(kind schemas.Kind) bool {
	return c.passage != nil && (len(c.kinds) == 0 || slices.Contains(c.kinds, kind))
}
