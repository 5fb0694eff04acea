package pii

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"satchel/schemas"
)

// The windows of a Reader.
const (
	windowBytes = 256 << 10
	keptBytes   = 20 << 10 // looked at again with what follows: more than the longest finding
)

// Reader masks a text of any length as it is read, as o says; ok is false when o is not
// understood. Memory stays within a few windows.
func (z *Sanitizer) Reader(tenant string, r io.Reader, o schemas.Obligations) (masked io.Reader, ok bool) {
	mask := Mask(Mark)
	if o.PII == schemas.PIIPseudonymise {
		mask = z.pseudonyms.Of(tenant)
	}
	only, known := typesOf(o.Types)
	if !known || o.Summarise != 0 || o.PII != schemas.PIIRedact && (o.PII != schemas.PIIPseudonymise || len(z.pseudonyms.key) == 0) {
		return nil, false
	}
	f := newFinder(z.detector, mask)
	f.only = only
	return &Masked{r: r, f: f}, true
}

// Mask masks everything in a text of any length with marks, and remembers what there was.
func (z *Sanitizer) Mask(r io.Reader) *Masked { return &Masked{r: r, f: newFinder(z.detector, Mark)} }

// Masked is a text that is masked as it is read, window by window. A window ends at the
// end of a line where it can, and never inside a finding.
type Masked struct {
	r     io.Reader
	f     *finder
	held  []byte // read, not masked yet
	ready []byte // masked, not taken yet
	err   error  // of r
}

// Types returns the types that were found so far, sorted.
func (m *Masked) Types() []Type { return slices.Sorted(maps.Keys(m.f.types)) }

// Read takes what is masked.
func (m *Masked) Read(p []byte) (int, error) {
	for len(m.ready) == 0 {
		if m.err != nil && len(m.held) == 0 {
			return 0, m.err
		}
		m.fillBuffer()
	}
	n := copy(p, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}

func (m *Masked) fillBuffer() {
	for m.err == nil && len(m.held) < windowBytes {
		at := len(m.held)
		m.held = slices.Grow(m.held, windowBytes-at)[:windowBytes]
		n, err := m.r.Read(m.held[at:])
		m.held = m.held[:at+n]
		m.err = err
	}
	text := string(m.held)
	spans := m.f.findTextSpans(text)
	cut := len(text)
	if m.err == nil {
		cut = len(text) - keptBytes
		if nl := strings.LastIndexByte(text[:cut], '\n'); nl > 0 {
			cut = nl + 1
		}
		for i, sp := range spans {
			if sp.End > cut {
				cut = min(cut, sp.Start)
				if cut == 0 {
					cut = sp.End // it is longer than the window: it goes whole
					i++
				}
				spans = spans[:i]
				break
			}
		}
	} else if !errors.Is(m.err, io.EOF) {
		m.held = nil
		spans = nil
		cut = 0 // what cannot be read to its end is not shown
	}
	m.ready = append(m.ready[:0], m.f.replaceSpans(text[:cut], spans)...)
	m.held = append(m.held[:0], m.held[min(cut, len(m.held)):]...)
}
