package opa

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxDepth is how deeply a policy input may be nested.
const maxDepth = 16

var errInput = errors.New("not a policy input")

// values reads policy inputs, which are JSON without space between its tokens as package
// policies writes it. Texts that come again share a term, which nobody changes.
type values struct{ texts map[string]*ast.Term }

func newValues() *values { return &values{texts: map[string]*ast.Term{}} }

// readWholeValue returns the value that raw is.
func (v *values) readWholeValue(raw []byte) (*ast.Term, error) {
	t, rest, err := v.readValue(raw, maxDepth)
	if err == nil && len(rest) > 0 {
		err = errInput
	}
	return t, err
}

// readValue reads one value at the head of b and returns what follows it.
func (v *values) readValue(b []byte, depth int) (*ast.Term, []byte, error) {
	if len(b) == 0 || depth == 0 {
		return nil, nil, errInput
	}
	switch c := b[0]; {
	case c == '"':
		return v.readString(b)
	case c == '{':
		return v.readObject(b[1:], depth)
	case c == '[':
		return v.readArray(b[1:], depth)
	case bytes.HasPrefix(b, []byte("true")):
		return ast.BooleanTerm(true), b[4:], nil
	case bytes.HasPrefix(b, []byte("false")):
		return ast.BooleanTerm(false), b[5:], nil
	case bytes.HasPrefix(b, []byte("null")):
		return ast.NullTerm(), b[4:], nil
	}
	n := bytes.IndexAny(b, ",]}")
	if n < 0 {
		n = len(b)
	}
	if _, err := strconv.ParseFloat(string(b[:n]), 64); err != nil || !json.Valid(b[:n]) {
		return nil, nil, errInput
	}
	return ast.NumberTerm(json.Number(b[:n])), b[n:], nil
}

// readString reads a string.
func (v *values) readString(b []byte) (*ast.Term, []byte, error) {
	end := 1
	plain := true
	for ; end < len(b) && b[end] != '"'; end++ {
		if c := b[end]; c == '\\' {
			plain = false
			end++
		} else if c < 0x20 {
			return nil, nil, errInput
		} else if c >= 0x80 {
			plain = false // it may not be UTF-8
		}
	}
	if end >= len(b) {
		return nil, nil, errInput
	}
	raw := b[:end+1]
	rest := b[end+1:]
	if t, ok := v.texts[string(raw)]; ok {
		return t, rest, nil
	}
	s := string(raw[1:end])
	if !plain {
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, nil, errInput
		}
	}
	t := ast.StringTerm(s)
	v.texts[string(raw)] = t
	return t, rest, nil
}

func (v *values) readObject(b []byte, depth int) (*ast.Term, []byte, error) {
	var members [][2]*ast.Term
	for first := true; ; first = false {
		switch {
		case len(b) == 0:
			return nil, nil, errInput
		case first && b[0] == '}':
			return ast.ObjectTerm(), b[1:], nil
		case b[0] != '"':
			return nil, nil, errInput
		}
		key, rest, err := v.readString(b)
		if err != nil {
			return nil, nil, err
		}
		if len(rest) == 0 || rest[0] != ':' || !plainKey(b[:len(b)-len(rest)]) ||
			slices.ContainsFunc(members, func(m [2]*ast.Term) bool { return m[0] == key }) {
			return nil, nil, errInput
		}
		value, rest, err := v.readValue(rest[1:], depth-1)
		if err != nil {
			return nil, nil, err
		}
		members = append(members, [2]*ast.Term{key, value})
		if len(rest) == 0 || rest[0] != ',' && rest[0] != '}' {
			return nil, nil, errInput
		}
		b = rest[1:]
		if rest[0] == '}' {
			return ast.ObjectTerm(members...), b, nil
		}
	}
}

// plainKey reports whether a key is written in one way only: the same key is then the
// same term.
func plainKey(raw []byte) bool {
	return !slices.ContainsFunc(raw, func(c byte) bool { return c == '\\' || c >= 0x80 })
}

func (v *values) readArray(b []byte, depth int) (*ast.Term, []byte, error) {
	var list []*ast.Term
	if len(b) > 0 && b[0] == ']' {
		return ast.ArrayTerm(), b[1:], nil
	}
	for {
		value, rest, err := v.readValue(b, depth-1)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, value)
		if len(rest) == 0 || rest[0] != ',' && rest[0] != ']' {
			return nil, nil, errInput
		}
		b = rest[1:]
		if rest[0] == ']' {
			return ast.ArrayTerm(list...), b, nil
		}
	}
}
