package pii

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"satchel/schemas"
)

// errPath is returned for a JSON path that is not of the form that redaction knows.
var errPath = errors.New("not a JSON path of the form $.content, $.content.a.b, $.content.list[0] or $.content.list[*]")

// step is one step of a JSON path: a member name, an index, or every element.
type step struct {
	name  string
	index int
	kind  stepKind
}

type stepKind int

const (
	stepMember stepKind = iota
	stepIndex
	stepEvery
)

// Redact replaces what the JSON paths name in the content by what mask has for it. It
// fails closed: a path that it cannot parse, or that meets nothing in the content, replaces
// the whole content; so do paths that go over the content again and again. A path into a field that is
// hidden apart from the content leaves the content alone.
func Redact(c schemas.Content, paths []string, mask Mask) schemas.Content {
	shown, _ := redactPaths(c, paths, mask)
	return shown
}

// redactPaths is Redact, and reports whether the paths took the steps that they may take.
func redactPaths(c schemas.Content, paths []string, mask Mask) (shown schemas.Content, ok bool) {
	tree := newContentTree(c, mask)
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			continue
		}
		if tree.removePath(path) != met {
			return schemas.TextContent(mask(Field, c.Text())), tree.steps >= 0
		}
	}
	if !tree.parsed {
		return c, true
	}
	raw, err := encodeTree(tree.value)
	if err != nil {
		return schemas.TextContent(mask(Field, c.Text())), true
	}
	return schemas.JSONContent(raw), true
}

// Whole reports whether Redact with these paths replaces the whole content.
func Whole(c schemas.Content, paths []string) bool {
	return len(paths) > 0 && Redact(c, paths, Mark).Text() == Redacted
}

// MissedFlag returns the index of the first path that names a place in the content where
// nothing is, and -1 when there is none. A path that hides the whole content misses nothing.
func MissedFlag(c schemas.Content, paths []string) int {
	tree := newContentTree(c, Mark)
	for i, path := range paths {
		if slices.Contains(paths[:i], path) || tree.steps < 0 {
			continue
		}
		if found := tree.removePath(path); found == missed || found == doubtful {
			return i
		}
	}
	return -1
}

// outcome says what a path did to a content.
type outcome int

const (
	met      outcome = iota // it hid its value, or names another field
	missed                  // nothing stands where it points
	doubtful                // nothing does, but a member of a like name may be meant
	closed                  // it cannot be followed: only the whole can be hidden
)

// contentTree is a content that is decoded when the first path needs it.
type contentTree struct {
	content schemas.Content
	mask    Mask
	value   any
	parsed  bool
	steps   int // that paths may still take, over all of them
}

// Steps that the paths of an item may take: so many for each byte of its content, and some more.
const (
	stepsOfByte = 4
	freeSteps   = 4 << 10
)

func newContentTree(c schemas.Content, mask Mask) *contentTree {
	return &contentTree{content: c, mask: mask, steps: freeSteps + stepsOfByte*len(c.Raw())}
}

func (t *contentTree) removePath(path string) outcome {
	steps, err := parsePath(path)
	switch {
	case err != nil || len(steps) == 0 || steps[0].kind != stepMember:
		return closed
	case hiddenApart(steps[0].name):
		return met
	case steps[0].name != "content" || len(steps) == 1:
		return closed
	case t.content.Raw() == nil: // a text has no places
		return missed
	}
	if !t.parsed {
		t.value, t.parsed = decodeJSON(t.content.Raw())
		if !t.parsed {
			return closed
		}
	}
	value, found := t.hideValue(t.value, steps[1:])
	t.value = value
	if t.steps < 0 {
		return closed
	}
	return found
}

// hiddenApart reports whether name is a field of an item that can be hidden while the
// content is shown. Every other name fails closed.
func hiddenApart(name string) bool {
	switch name {
	case "provenance", "embedding_ref", "graph_refs", "summary", "category", "speaker", "links", "attributes":
		return true
	}
	return false
}

func decodeJSON(raw json.RawMessage) (any, bool) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err == nil
}

// hideValue replaces what steps name by its mask. It is met when a value was hidden, or when
// nothing can stand there: in a null or an empty list. It is closed when there are no steps left.
func (t *contentTree) hideValue(v any, steps []step) (any, outcome) {
	t.steps--
	if t.steps < 0 {
		return v, closed
	}
	if len(steps) == 0 {
		return maskValue(v, t.mask), met
	}
	head := steps[0]
	rest := steps[1:]
	switch x := v.(type) {
	case map[string]any:
		return t.hideMember(x, head, rest)
	case []any:
		if head.kind == stepIndex {
			if head.index >= len(x) {
				return x, missed
			}
			var found outcome
			x[head.index], found = t.hideValue(x[head.index], rest)
			return x, found
		}
		if head.kind == stepMember { // that member of each element
			rest = steps
		}
		found := missed
		if len(x) == 0 {
			found = met
		}
		for i := range x {
			var one outcome
			x[i], one = t.hideValue(x[i], rest)
			found = mergeOutcomes(found, one)
		}
		return x, found
	case nil:
		return nil, met
	}
	return maskValue(v, t.mask), met // the path goes on where the value ends
}

func (t *contentTree) hideMember(x map[string]any, head step, rest []step) (any, outcome) {
	switch head.kind {
	case stepMember:
		child, ok := x[head.name]
		if !ok {
			return x, t.judgeAbsence(x, head.name)
		}
		var found outcome
		x[head.name], found = t.hideValue(child, rest)
		return x, found
	case stepEvery:
		found := missed
		if len(x) == 0 {
			found = met
		}
		for name, child := range x {
			var one outcome
			x[name], one = t.hideValue(child, rest)
			found = mergeOutcomes(found, one)
		}
		return x, found
	}
	return maskValue(x, t.mask), met // an index into an object
}

// mergeOutcomes is the outcome of two branches of a path: one of several elements may lack the
// member, but a doubt about one is a doubt about all.
func mergeOutcomes(a, b outcome) outcome {
	if a == doubtful || b == doubtful {
		return doubtful
	}
	return min(a, b)
}

// judgeAbsence is the outcome of a member that an object lacks.
func (t *contentTree) judgeAbsence(x map[string]any, name string) outcome {
	want := foldName(name)
	for other := range x {
		t.steps -= len(other)
		if t.steps < 0 {
			return closed
		}
		if rest, ok := strings.CutPrefix(foldName(other), want); ok && (rest == "" || rest[0] == '.') {
			return doubtful
		}
	}
	return missed
}

// foldName is the form in which names that look alike are equal.
func foldName(name string) string {
	plain, _ := foldText(norm.NFKC.String(name))
	return cases.Fold().String(plain)
}

// maskValue is the mask of a value's text, or of its JSON when it is no text.
func maskValue(v any, mask Mask) any {
	if text, ok := v.(string); ok {
		return mask(Field, text)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return Redacted
	}
	return mask(Field, string(raw))
}

// parsePath reads $.a.b[0][*]['name'] into steps after the $.
func parsePath(path string) ([]step, error) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, fmt.Errorf("parse path: %w", errPath)
	}
	var steps []step
	for rest != "" {
		var st step
		var err error
		switch rest[0] {
		case '.':
			st, rest, err = dotStep(rest[1:])
		case '[':
			st, rest, err = bracketStep(rest[1:])
		default:
			err = errPath
		}
		if err != nil {
			return nil, fmt.Errorf("parse path: %w", err)
		}
		steps = append(steps, st)
	}
	return steps, nil
}

func dotStep(s string) (step, string, error) {
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	if end == 0 {
		return step{}, "", errPath
	}
	if s[:end] == "*" {
		return step{kind: stepEvery}, s[end:], nil
	}
	return step{name: s[:end]}, s[end:], nil
}

func bracketStep(s string) (step, string, error) {
	if s != "" && (s[0] == '\'' || s[0] == '"') {
		end := strings.Index(s[1:], s[:1]+"]")
		if end < 1 {
			return step{}, "", errPath
		}
		return step{name: s[1 : 1+end]}, s[end+3:], nil
	}
	inner, rest, ok := strings.Cut(s, "]")
	if !ok {
		return step{}, "", errPath
	}
	if inner == "*" {
		return step{kind: stepEvery}, rest, nil
	}
	i, err := strconv.Atoi(inner)
	if err != nil || i < 0 {
		return step{}, "", errPath
	}
	return step{kind: stepIndex, index: i}, rest, nil
}

// namesField reports whether a path names the given top-level field of an item.
func namesField(paths []string, field string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		steps, err := parsePath(p)
		return err == nil && len(steps) > 0 && steps[0].kind == stepMember && steps[0].name == field
	})
}
