package compaction

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"satchel/pipeline/candidate"
	"satchel/pipeline/compaction/blob"
	"satchel/pipeline/infra/cache"
	"satchel/pipeline/language"
	"satchel/schemas"
)

// Texts remembers what was read of texts, whatever the question: their units and the terms of these. It holds
// hashes under a random seed, and nothing of a text. It is bounded and safe for concurrent use.
type Texts struct {
	seed  maphash.Seed
	known *cache.Memo[reading]
}

const textsBytes = 16 << 20 // of a generation

// NewTexts returns one that remembers nothing yet.
func NewTexts() *Texts {
	return &Texts{seed: maphash.MakeSeed(), known: cache.NewMemo[reading](textsBytes)}
}

// Clear forgets everything. Call it after an erasure.
func (t *Texts) Clear() { t.known.Clear() }

// reading is what a text says without a question.
type reading struct {
	blob  bool           // a log, a table, …; its lines are picked for a question, and it has no units here
	units []schemas.Span // sentences and lines
	terms [][]uint64     // of each unit, each once
	plain []float64      // score of each unit
}

func (r *reading) countBytes() int {
	n := 16 + 48*len(r.units)
	for _, terms := range r.terms {
		n += 8 * len(terms)
	}
	return n
}

// readContent reads the content of a candidate.
func (t *Texts) readContent(c *candidate.Candidate) reading {
	if c.Content.Raw() != nil {
		return reading{blob: true}
	}
	text := c.Content.Text()
	tool := uint8(0)
	if c.Role == "tool" {
		tool = 1
	}
	return t.known.Of(text, tool, func() (reading, int) {
		r := reading{}
		if len(text) >= blobFrom {
			kind := blob.Detect([]byte(text[:min(len(text), 16<<10)]), tool == 1)
			r.blob = kind != blob.Text && kind != blob.Binary
		}
		if !r.blob {
			r = t.readUnits(text, splitUnits(text))
		}
		return r, r.countBytes()
	})
}

// readUnits reads the units of a text.
func (t *Texts) readUnits(text string, units []schemas.Span) reading {
	r := reading{units: units, terms: make([][]uint64, len(units)), plain: make([]float64, len(units))}
	var an language.Analyzer
	said := map[uint64]float64{}
	for i, u := range units {
		r.terms[i] = an.Hashes(t.seed, text[u.Start:u.End])
		for _, term := range r.terms[i] {
			said[term]++
		}
	}
	for i, terms := range r.terms {
		central := 0.0
		for _, term := range terms {
			central += math.Log(said[term] + 1)
		}
		r.plain[i] = .15 * central / math.Sqrt(float64(len(terms))+1)
		if strings.ContainsAny(text[units[i].Start:units[i].End], "0123456789") {
			r.plain[i] += .2
		}
		if i == 0 {
			r.plain[i] += .4
		}
	}
	return r
}

// reader scores sentences for a question. It is for one call of Shorten.
type reader struct {
	texts *Texts
	query map[uint64]int // how many units hold the term
	bits  uint64         // one of each term
	units int
}

func newReader(query string, texts *Texts) *reader {
	if texts == nil {
		texts = &Texts{seed: maphash.MakeSeed()}
	}
	r := &reader{texts: texts, query: map[uint64]int{}}
	for _, t := range new(language.Analyzer).Hashes(texts.seed, query) {
		r.query[t] = 0
		r.bits |= 1 << (t % 64)
	}
	return r
}

// findQueryTerm returns how many units hold a term, and whether it is of the question.
func (r *reader) findQueryTerm(term uint64) (held int, ok bool) {
	if r.bits>>(term%64)&1 == 0 {
		return 0, false
	}
	held, ok = r.query[term]
	return held, ok
}

// asksAny reports whether one of the terms is of the question.
func (r *reader) asksAny(terms []uint64) bool {
	return slices.ContainsFunc(terms, func(t uint64) bool { _, ok := r.findQueryTerm(t); return ok })
}

// readItem reads an item: the lines of a blob that its extract may hold, or its units.
func (r *reader) readItem(p *piece, query string, target int) {
	known := r.texts.readContent(p.c)
	if known.blob {
		p.lines = blobLines(p.c, query, target)
		if p.lines != nil {
			return
		}
	}
	r.openWhole(p, known)
}

// openWhole reads the units of an item, be it a blob.
func (r *reader) openWhole(p *piece, known reading) {
	if known.blob {
		text := p.c.Content.Text()
		known = r.texts.readUnits(text, splitUnits(text))
	}
	r.countTerms(p, known)
}

// openLines reads the lines that were picked of a blob as units.
func (r *reader) openLines(p *piece) {
	spans := make([]schemas.Span, len(p.lines))
	for i, l := range p.lines {
		spans[i] = l.Span
	}
	r.countTerms(p, r.texts.readUnits(p.c.Content.Text(), spans))
}

// countTerms counts the question's terms in the units of a piece.
func (r *reader) countTerms(p *piece, known reading) {
	p.reading = known
	r.units += len(p.units)
	for _, terms := range p.terms {
		for _, t := range terms {
			if held, ok := r.findQueryTerm(t); ok {
				r.query[t] = held + 1
			}
		}
	}
}

// scoreUnits are those of an item's units.
func (r *reader) scoreUnits(p *piece) []float64 {
	match := make([]float64, len(p.units))
	out := slices.Clone(p.plain)
	for i, terms := range p.terms {
		for _, t := range terms {
			if held, ok := r.findQueryTerm(t); ok {
				match[i] += math.Log(1 + float64(r.units)/float64(1+held))
			}
		}
	}
	for i := range out {
		out[i] += match[i]
		if i > 0 { // what is said next often answers
			out[i] += .3 * match[i-1]
		}
		if i+1 < len(match) {
			out[i] += .2 * match[i+1]
		}
	}
	return out
}
