package erasure

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"satchel/schemas"
)

// Class says how long items are kept: those that match, from the time when their present version was
// logged.
type Class struct {
	Name  string `yaml:"name"`  // a token; it stands in the reason of the erasure
	Match Match  `yaml:"match"` // empty: every item
	Keep  Keep   `yaml:"keep"`  // 90d, 36h
	Then  string `yaml:"then"`  // erase, the only one
}

// Match picks items. Each member that is given must hold: of a list, one of its values.
type Match struct {
	Labels     []string `yaml:"labels"`
	Kinds      []string `yaml:"kinds"`
	Types      []string `yaml:"types"`
	Categories []string `yaml:"categories"`
	Project    string   `yaml:"project"`
}

// Keep is a duration that may be written in days.
type Keep time.Duration

var days = regexp.MustCompile(`^([1-9][0-9]{0,4})d$`)

// UnmarshalYAML reads 90d or a duration of Go, such as 36h.
func (k *Keep) UnmarshalYAML(raw []byte) error {
	text := strings.Trim(strings.TrimSpace(string(raw)), `"'`)
	if d := days.FindStringSubmatch(text); d != nil {
		n, err := strconv.Atoi(d[1])
		*k = Keep(time.Duration(n) * 24 * time.Hour)
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf("keep %q: give days as 90d, or a duration as 36h", text)
	}
	*k = Keep(d)
	return nil
}

func (m *Match) isMatching(item *schemas.MemoryItem) bool {
	oneOf := func(allowed []string, has ...string) bool {
		return len(allowed) == 0 || slices.ContainsFunc(has, func(v string) bool { return slices.Contains(allowed, v) })
	}
	return oneOf(m.Labels, item.SecurityLabel...) && oneOf(m.Kinds, string(item.Kind)) && oneOf(m.Types, string(item.Type)) &&
		oneOf(m.Categories, item.Category) && (m.Project == "" || m.Project == item.Scope.Project)
}

// Retention is a file of classes. Of the classes that match an item the first counts. It is not safe
// for concurrent use.
type Retention struct {
	path    string
	classes []Class
	read    []byte   // of the file, last
	sum     [32]byte // SHA-256 of the file that the classes are of
}

// OpenRetention reads a retention file. It fails for one that does not say what it must.
func OpenRetention(path string) (*Retention, error) {
	r := &Retention{path: path}
	_, err := r.Reload()
	return r, err
}

// Reload reads the file when it has changed, and reports whether it had. After an error the former
// classes hold.
func (r *Retention) Reload() (changed bool, err error) {
	raw, err := os.ReadFile(r.path)
	if err != nil {
		return false, fmt.Errorf("read the retention file: %w", err)
	}
	if r.read != nil && bytes.Equal(raw, r.read) {
		return false, nil
	}
	r.read = raw
	var file struct {
		Classes []Class `yaml:"classes"`
	}
	in := yaml.NewDecoder(bytes.NewReader(raw), yaml.DisallowUnknownField())
	if err := in.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the retention file %s: %w", r.path, err)
	}
	if err := in.Decode(new(any)); !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("retention file %s: it has more than one YAML document", r.path)
	}
	if err := errors.Join(checkClasses(file.Classes), checkMatches(raw)); err != nil {
		return false, fmt.Errorf("retention file %s: %w", r.path, err)
	}
	r.classes, r.sum = file.Classes, sha256.Sum256(raw)
	return true, nil
}

func checkClasses(classes []Class) error {
	if len(classes) == 0 {
		return errors.New("classes: name at least one")
	}
	names := map[string]bool{}
	for i := range classes {
		c := &classes[i]
		at := fmt.Sprintf("class %d (%s): ", i+1, c.Name)
		switch {
		case !schemas.ValidToken(c.Name):
			return errors.New(at + "name: must be a token of letters, digits, - and _")
		case names[c.Name]:
			return errors.New(at + "name: is given twice")
		case c.Keep == 0:
			return errors.New(at + "keep: is required, as 90d")
		case c.Then != "erase":
			return errors.New(at + "then: must be erase")
		}
		names[c.Name] = true
		if err := c.Match.checkMatch(); err != nil {
			return fmt.Errorf("%smatch: %w", at, err)
		}
	}
	return nil
}

// checkMatches refuses a match, or a member of one, that is there and says nothing: it would be of every
// item.
func checkMatches(raw []byte) error {
	var file struct {
		Classes []map[string]any `yaml:"classes"`
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		return err
	}
	for i, class := range file.Classes {
		match, given := class["match"]
		members, _ := match.(map[string]any)
		if given && len(members) == 0 {
			return fmt.Errorf("class %d: match: is empty; without match the class is of every item", i+1)
		}
		for name, value := range members {
			if list, ok := value.([]any); value == nil || value == "" || ok && len(list) == 0 {
				return fmt.Errorf("class %d: match: %s: is empty", i+1, name)
			}
		}
	}
	return nil
}

func (m *Match) checkMatch() error {
	kinds := []schemas.Kind{schemas.KindMemory, schemas.KindSummary, schemas.KindKnowledge, schemas.KindCode,
		schemas.KindExperience, schemas.KindValue, schemas.KindCommit, schemas.KindTool}
	for _, k := range m.Kinds {
		if !slices.Contains(kinds, schemas.Kind(k)) {
			return fmt.Errorf("there is no kind %q", k)
		}
	}
	types := []schemas.MemoryType{schemas.Episodic, schemas.Procedural, schemas.Semantic}
	for _, t := range m.Types {
		if !slices.Contains(types, schemas.MemoryType(t)) {
			return fmt.Errorf("there is no type %q", t)
		}
	}
	for _, l := range m.Labels {
		if !schemas.ValidLabel(l) {
			return fmt.Errorf("%q is no label name:value", l)
		}
	}
	return nil
}

// classOf returns the class of an item, nil for none.
func (r *Retention) classOf(item *schemas.MemoryItem) *Class {
	for i := range r.classes {
		if r.classes[i].Match.isMatching(item) {
			return &r.classes[i]
		}
	}
	return nil
}

// findShortestKeep returns how long an item is kept at least.
func (r *Retention) findShortestKeep() time.Duration {
	return time.Duration(slices.MinFunc(r.classes, func(a, b Class) int { return cmp.Compare(a.Keep, b.Keep) }).Keep)
}
