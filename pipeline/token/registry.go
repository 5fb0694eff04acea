package token

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
)

// The encodings that are counted exactly.
const (
	CL100K = "cl100k_base"
	O200K  = "o200k_base"
)

// maxName bounds a model's name in bytes.
const maxName = 128

// Registry hands out counters that share what they load. The zero value works and is
// safe for concurrent use.
type Registry struct {
	mu     sync.Mutex
	loaded map[string]*bpe
}

// New returns a counter of its own; see Registry.Counter.
func New(name string) (Counter, error) {
	var r Registry
	return r.Counter(name)
}

// Counter returns the counter for name: an encoding, or a model ("gpt-4o-mini",
// "text-embedding-3-small"; a provider's prefix and "ft:" are passed over). "" is
// cl100k_base. A model nobody published a tokenizer for gets the estimate, for which
// Exact reports false. A name that cannot be one is an error.
func (r *Registry) Counter(name string) (Counter, error) {
	if len(name) > maxName || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsGraphic(c) }) {
		return nil, fmt.Errorf("find tokenizer %.40q: not the name of an encoding or model", name)
	}
	encoding := encodingOf(name)
	if encoding == "" {
		return Estimate{}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.loaded[encoding]; c != nil {
		return c, nil
	}
	if r.loaded == nil {
		r.loaded = map[string]*bpe{}
	}
	c := newBPE(encoding)
	r.loaded[encoding] = c
	return c, nil
}

// encodingOf returns the encoding that name is or uses, "" when that is not known.
func encodingOf(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "", CL100K:
		return CL100K
	case O200K:
		return O200K
	}
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	name = strings.TrimPrefix(name, "ft:")
	for _, p := range [...]struct{ prefix, encoding string }{ // the first that fits
		{"gpt-4o", O200K}, {"gpt-4.", O200K}, {"chatgpt-4o", O200K}, {"gpt-5", O200K}, {"gpt-oss", O200K},
		{"o1", O200K}, {"o3", O200K}, {"o4", O200K},
		{"gpt-4", CL100K}, {"gpt-3.5", CL100K}, {"gpt-35", CL100K},
		{"text-embedding-3", CL100K}, {"text-embedding-ada-002", CL100K},
	} {
		rest, ok := strings.CutPrefix(name, p.prefix)
		if ok && (rest == "" || strings.HasSuffix(p.prefix, ".") || !unicode.IsLetter(rune(rest[0])) && !unicode.IsDigit(rune(rest[0]))) {
			return p.encoding
		}
	}
	return ""
}

// Exact reports whether c counts as the model does. It is false for the estimate.
func Exact(c Counter) bool {
	e, ok := c.(interface{ Exact() bool })
	return ok && e.Exact()
}
