package passage

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"satchel/pipeline/candidate"
	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// analysis is what is known of an item alone.
type analysis struct {
	source
	parts []read
}

// read is a passage that was read. Nothing changes it.
type read struct {
	part
	terms  map[uint64]float32 // how often each term occurs, those of the title among them
	length float64            // of all terms
	vector []float32          // unit length; nil: there are no vectors
	words  []*word            // distinct
	cues   *cuesOf
	bare   bool // it says nothing alone
}

// cuesOf remembers which cues a passage meets, a bit for each of the first 32.
type cuesOf struct{ known, met atomic.Uint32 }

// meets reports whether a passage meets the cue of a number; text returns what it says.
func (c *cuesOf) meets(number int, text func() string, cue *cue) bool {
	if number >= 32 {
		return cue.passage.MatchString(text())
	}
	bit := uint32(1) << number
	if c.known.Load()&bit == 0 {
		if cue.passage.MatchString(text()) {
			c.met.Or(bit)
		}
		c.known.Or(bit)
	}
	return c.met.Load()&bit != 0
}

// word is a word as it is written in passages.
type word struct {
	text   string // its term
	term   uint64 // the hash of that
	vector []int8
	scale  float32 // one over the length of vector
}

// Bounds of a memo.
const (
	mostParts = 6 << 10  // at about 4 KB
	mostWords = 64 << 10 // at about 350 bytes
)

// memo keeps what was read, by hashes under random seeds. It is bounded: when it is full, it
// begins anew. It is safe for concurrent use.
type memo struct {
	seed maphash.Seed

	mu    sync.Mutex
	items map[memoKey]*analysis
	words map[uint64]*word
	parts int
}

// memoKey is a version of an item as it may be seen.
type memoKey struct {
	tenant, id string
	text       uint64 // hash of content and attributes
}

func newMemo() *memo {
	return &memo{seed: maphash.MakeSeed(), items: map[memoKey]*analysis{}, words: map[uint64]*word{}}
}

func (m *memo) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items, m.words, m.parts = map[memoKey]*analysis{}, map[uint64]*word{}, 0
}

// item reads a candidate, or returns what was read before.
func (m *memo) item(tenant string, c *candidate.Candidate, by Vectors) *analysis {
	var h maphash.Hash
	h.SetSeed(m.seed)
	h.WriteString(c.Content.Text())
	h.WriteByte(0)
	if !c.Masked && !c.Verdict.Redact {
		h.Write(c.Attributes)
	} else {
		h.WriteString(c.CreatedAt.UTC().Format(time.DateOnly))
	}
	h.WriteString(string(c.Kind) + "\x00" + c.Category + "\x00" + c.Provenance.SourceURI)
	key := memoKey{tenant, c.ID, h.Sum64()}
	m.mu.Lock()
	known := m.items[key]
	m.mu.Unlock()
	if known != nil {
		return known
	}
	a := &analysis{source: sourceOf(c)}
	r := reading{memo: m, by: by}
	text := c.Content.Text()
	for _, p := range a.source.parts(text) {
		a.parts = append(a.parts, r.read(&a.source, p, text))
	}
	for i := range a.parts {
		p := &a.parts[i]
		if document := a.kind != schemas.KindCode && a.kind != schemas.KindCommit; document || len(a.parts) > 1 {
			own := max(p.span.Start, min(a.title, p.span.End)) // a heading alone says nothing of its subject
			p.bare = bare(a.doc[p.doc.Start:p.doc.End] + "\n" + text[own:p.span.End])
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parts += len(a.parts); m.parts > mostParts {
		m.items, m.parts = map[memoKey]*analysis{}, len(a.parts)
	}
	m.items[key] = a
	return a
}

// reading reads the passages of one item.
type reading struct {
	memo *memo
	by   Vectors
	an   keyword.Analyzer
}

// read reads a passage.
func (r *reading) read(s *source, p part, text string) read {
	own := s.own(p, text)
	out := read{part: p, terms: map[uint64]float32{}, cues: &cuesOf{}}
	for _, words := range []string{s.found, own} {
		r.an.Analyze(words)
		for i := range r.an.Len() {
			out.terms[maphash.Bytes(r.memo.seed, r.an.Term(i))]++
			out.length++
		}
	}
	if r.by == nil {
		return out
	}
	out.vector = r.by.WordVector(nil, s.embedded(own))
	out.words = r.words(s.name + " " + own)
	return out
}

// own is the text of a passage.
func (s *source) own(p part, text string) string {
	if p.doc.End > p.doc.Start {
		return s.doc[p.doc.Start:p.doc.End] + "\n" + text[p.span.Start:p.span.End]
	}
	return text[p.span.Start:p.span.End]
}

// embedded is what is embedded of a passage.
func (s *source) embedded(own string) string { return spaced(s.name) + "\n" + spaced(own) }

// Text is what is embedded of a passage, and where in the content the passage is.
type Text struct {
	Span schemas.Span
	Text string
}

// Texts lists the passages of an item that has several, in their order. Of another item there are none: its own
// vector says as much.
func Texts(r *schemas.Record) []Text {
	seen := candidate.NewVisible(r, false)
	if !Of(&seen) {
		return nil
	}
	c := candidate.New(&seen, schemas.Verdict{})
	s, text := sourceOf(&c), seen.Content.Text()
	parts := s.parts(text)
	if len(parts) < 2 {
		return nil
	}
	out := make([]Text, len(parts))
	for i, p := range parts {
		out[i] = Text{Span: p.span, Text: s.embedded(s.own(p, text))}
	}
	return out
}

// words returns the distinct words of a text that have a vector.
func (r *reading) words(text string) []*word {
	var out []*word
	for _, w := range lettered(text) {
		if known := r.word(w); known != nil && !slices.Contains(out, known) {
			out = append(out, known)
		}
	}
	return out
}

// word returns a word, nil for one that says nothing.
func (r *reading) word(w string) *word {
	hash := maphash.String(r.memo.seed, w)
	r.memo.mu.Lock()
	known, ok := r.memo.words[hash]
	r.memo.mu.Unlock()
	if ok {
		return known
	}
	if r.an.Analyze(w); r.an.Len() == 1 {
		row := make([]int8, dimensions)
		if scale := vecmath.Quantise(row, r.by.WordVector(nil, w)); scale > 0 {
			known = &word{text: string(r.an.Term(0)), term: maphash.Bytes(r.memo.seed, r.an.Term(0)), vector: row, scale: scale}
		}
	}
	r.memo.mu.Lock()
	defer r.memo.mu.Unlock()
	if len(r.memo.words) >= mostWords {
		r.memo.words = map[uint64]*word{}
	}
	if other, ok := r.memo.words[hash]; ok {
		return other
	}
	r.memo.words[hash] = known
	return known
}

// fewWords is how many words a text has at most that says nothing without what is around it.
const fewWords = 3

// bare reports whether a text has hardly a word beside addresses and numbers.
func bare(text string) bool {
	n := 0
	for field := range strings.FieldsSeq(text) {
		if !strings.Contains(field, "://") {
			n += len(lettered(field))
		}
		if n > fewWords {
			return false
		}
	}
	return true
}

// leastWord is how many letters a word that is compared by its vector has at least.
const leastWord = 3

// lettered returns the words of a text, lower-cased, compounds in their parts.
func lettered(text string) []string {
	words := strings.FieldsFunc(spaced(text), func(r rune) bool { return !unicode.IsLetter(r) })
	out := words[:0]
	for _, w := range words {
		if len(w) >= leastWord {
			out = append(out, strings.ToLower(w))
		}
	}
	return out
}

// spaced puts a space between the parts of compounds such as MaxWorkers and HTTPServer.
func spaced(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	before := rune(0)
	for i, r := range text {
		if unicode.IsUpper(r) {
			next := rune(0)
			if i+1 < len(text) {
				next = rune(text[i+1])
			}
			if unicode.IsLower(before) || unicode.IsDigit(before) || unicode.IsUpper(before) && next >= 'a' && next <= 'z' {
				b.WriteByte(' ')
			}
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}
