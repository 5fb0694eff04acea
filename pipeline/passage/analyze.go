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
	"satchel/pipeline/language"
	"satchel/schemas"
)

// analysis is what is known of an item alone: where its passages are, and what they say once that was asked for.
type analysis struct {
	source
	parts []read
	begun bool // the last part is what was not read

	words, vectors sync.Once // of the parts
	bytes          int       // that it takes, about; under memo.mu
}

// read is a passage. What is read of it is read once.
type read struct {
	part
	bare   bool // it says nothing alone, and is not read
	cues   *cuesOf
	terms  map[uint64]float32 // how often each term occurs, those of the title among them
	length float64            // of all terms
	words  []*word            // distinct
	vector []float32          // unit length; nil: there are no vectors
}

// cuesOf remembers which cues a passage meets, a bit for each of the first 32.
type cuesOf struct{ known, met atomic.Uint32 }

// isCueMet reports whether a passage meets the cue of a number; text returns what it says.
func (c *cuesOf) isCueMet(number int, text func() string, cue *cue) bool {
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
	mostBytes = 32 << 20 // of a generation of items
	placeOf   = 256      // bytes of a passage, about: its place
	wordsOf   = 3 << 10  // its words
	vectorOf  = 1 << 10  // its vector
	mostWords = 64 << 10 // at about 350 bytes
)

// memo keeps what was read, by hashes under random seeds. It is bounded. Of items it has two generations: what is
// asked for moves into the young one, and when that is full, it becomes the old one, and the old one goes. It is safe
// for concurrent use.
type memo struct {
	seed maphash.Seed

	mu         sync.Mutex
	young, old map[memoKey]*analysis
	bytes      int // of the young ones
	words      map[uint64]*word
}

// memoKey is a version of an item as it may be seen.
type memoKey struct {
	tenant, id string
	text       uint64 // hash of content and attributes
}

func newMemo() *memo {
	m := &memo{seed: maphash.MakeSeed()}
	m.clearMemo()
	return m
}

func (m *memo) clearMemo() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.young = map[memoKey]*analysis{}
	m.old = nil
	m.bytes = 0
	m.words = map[uint64]*word{}
}

// findAnalysis returns what is known of an item, nil for nothing.
func (m *memo) findAnalysis(key memoKey) *analysis {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.young[key]; a != nil {
		return a
	}
	a := m.old[key]
	if a != nil {
		delete(m.old, key)
		m.addAnalysis(key, a)
	}
	return a
}

// addAnalysis puts an item into the young generation. The caller holds the lock.
func (m *memo) addAnalysis(key memoKey, a *analysis) {
	m.young[key] = a
	m.bytes += a.bytes
	if m.bytes > mostBytes {
		m.old = m.young
		m.young = map[memoKey]*analysis{}
		m.bytes = 0
	}
}

// growAnalysis counts what was read of the passages of an item.
func (m *memo) growAnalysis(a *analysis, each int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a.bytes += each * len(a.parts)
	m.bytes += each * len(a.parts)
}

// analyseItem finds the passages of a candidate, or returns what was known before. What is behind so many bytes is one passage,
// which is not read.
func (m *memo) analyseItem(tenant string, c *candidate.Candidate, most int) *analysis {
	text := c.Content.Text()
	head := text
	if len(text) > most {
		head = strings.ToValidUTF8(text[:most], "")
	}
	var h maphash.Hash
	h.SetSeed(m.seed)
	h.WriteString(head)
	maphash.WriteComparable(&h, len(text))
	h.WriteByte(0)
	if !c.Verdict.Redact {
		h.Write(c.Attributes)
	}
	if c.Masked {
		h.WriteString("\x00" + c.CreatedAt.UTC().Format(time.DateOnly))
	}
	h.WriteString(string(c.Kind) + "\x00" + c.Category + "\x00" + c.Provenance.SourceURI)
	key := memoKey{tenant, c.ID, h.Sum64()}
	if known := m.findAnalysis(key); known != nil {
		return known
	}
	a := &analysis{source: sourceOf(c)}
	for _, p := range a.source.splitParts(head) {
		a.parts = append(a.parts, read{part: p, cues: &cuesOf{}})
	}
	a.bytes = placeOf * len(a.parts)
	for i := range a.parts {
		p := &a.parts[i]
		if document := a.kind != schemas.KindCode && a.kind != schemas.KindCommit; document || len(a.parts) > 1 {
			own := max(p.span.Start, min(a.title, p.span.End)) // a heading alone says nothing of its subject
			p.bare = hasFewWords(a.doc[p.doc.Start:p.doc.End] + "\n" + text[own:p.span.End])
		}
	}
	a.begun = len(head) < len(text)
	if a.begun {
		a.parts = append(a.parts, read{part: part{span: schemas.Span{Start: len(head), End: len(text)}}, bare: true, cues: &cuesOf{}})
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addAnalysis(key, a)
	return a
}

// reading reads the passages of items.
type reading struct {
	memo *memo
	by   Vectors // nil: there are no vectors
	an   language.Analyzer
}

// readPassages reads the words of an item's passages, and their vectors where they are asked for.
func (r *reading) readPassages(a *analysis, text string, vectors bool) {
	a.words.Do(func() {
		r.visitPassages(a, text, func(p *read, own string) { r.readWords(&a.source, p, own) })
		r.memo.growAnalysis(a, wordsOf)
	})
	if r.by != nil && vectors {
		a.vectors.Do(func() {
			r.visitPassages(a, text, func(p *read, own string) { p.vector = r.by.WordVector(nil, a.formatEmbeddedText(own)) })
			r.memo.growAnalysis(a, vectorOf)
		})
	}
}

// visitPassages calls do with each passage that says something alone, and its text.
func (r *reading) visitPassages(a *analysis, text string, do func(p *read, own string)) {
	for i := range a.parts {
		if p := &a.parts[i]; !p.bare {
			do(p, a.readOwnText(p.part, text))
		}
	}
}

// readWords reads the words of a passage.
func (r *reading) readWords(s *source, p *read, own string) {
	p.terms = map[uint64]float32{}
	for _, words := range []string{s.found, own} {
		r.an.Analyze(words)
		for i := range r.an.Len() {
			p.terms[maphash.Bytes(r.memo.seed, r.an.Term(i))]++
			p.length++
		}
	}
	if r.by != nil {
		p.words = r.findWords(s.name + " " + own)
	}
}

// readOwnText is the text of a passage.
func (s *source) readOwnText(p part, text string) string {
	if p.doc.End > p.doc.Start {
		return s.doc[p.doc.Start:p.doc.End] + "\n" + text[p.span.Start:p.span.End]
	}
	return text[p.span.Start:p.span.End]
}

// formatEmbeddedText is what is embedded of a passage.
func (s *source) formatEmbeddedText(own string) string {
	return spaceCompounds(s.name) + "\n" + spaceCompounds(own)
}

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
	s := sourceOf(&c)
	text := seen.Content.Text()
	parts := s.splitParts(text)
	if len(parts) < 2 {
		return nil
	}
	out := make([]Text, len(parts))
	for i, p := range parts {
		out[i] = Text{Span: p.span, Text: s.formatEmbeddedText(s.readOwnText(p, text))}
	}
	return out
}

// findWords returns the distinct words of a text that have a vector.
func (r *reading) findWords(text string) []*word {
	var out []*word
	for _, w := range splitLetterWords(text) {
		if known := r.findWord(w); known != nil && !slices.Contains(out, known) {
			out = append(out, known)
		}
	}
	return out
}

// findWord returns a word, nil for one that says nothing.
func (r *reading) findWord(w string) *word {
	hash := maphash.String(r.memo.seed, w)
	r.memo.mu.Lock()
	known, ok := r.memo.words[hash]
	r.memo.mu.Unlock()
	if ok {
		return known
	}
	r.an.Analyze(w)
	if r.an.Len() == 1 {
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

// hasFewWords reports whether a text has hardly a word beside addresses and numbers.
func hasFewWords(text string) bool {
	n := 0
	for field := range strings.FieldsSeq(text) {
		if !strings.Contains(field, "://") {
			n += len(splitLetterWords(field))
		}
		if n > fewWords {
			return false
		}
	}
	return true
}

// leastWord is how many letters a word that is compared by its vector has at least.
const leastWord = 3

// splitLetterWords returns the words of a text, lower-cased, compounds in their parts.
func splitLetterWords(text string) []string {
	words := strings.FieldsFunc(spaceCompounds(text), func(r rune) bool { return !unicode.IsLetter(r) })
	out := words[:0]
	for _, w := range words {
		if len(w) >= leastWord {
			out = append(out, strings.ToLower(w))
		}
	}
	return out
}

// spaceCompounds puts a space between the parts of compounds such as MaxWorkers and HTTPServer.
func spaceCompounds(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	before := rune(0)
	for i, r := range text {
		if unicode.IsUpper(r) {
			next := rune(0)
			if i+1 < len(text) {
				next = rune(text[i+1])
			}
			isNext := unicode.IsUpper(before) && next >= 'a' && next <= 'z'
			if isNext || unicode.IsLower(before) || unicode.IsDigit(before) {
				b.WriteByte(' ')
			}
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}
