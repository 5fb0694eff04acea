package rank

import (
	"context"
	"hash/fnv"
	"sync"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// docFrequency knows in which frequency of the documents a word occurs. A one-word search
// returns the moments of its score; where the score is nearly the same wherever the
// word occurs, mean² / (mean² + variance) is that frequency. It is a bounded cache: a frequency
// is measured again when the number of documents has moved by a fifth.
type docFrequency struct {
	index keyword.Index

	mu   sync.Mutex
	seen map[frequencyKey]frequency
	era  uint64 // counts forget: what was measured before is not kept after it
}

type frequencyKey struct {
	tenant string
	filter uint64 // what one principal may see says nothing about another
	word   string
}

type frequency struct {
	value float64
	n     int
}

const maxFrequencies = 16 << 10

func newDocFrequency(index keyword.Index) *docFrequency {
	return &docFrequency{index: index, seen: map[frequencyKey]frequency{}}
}

// forgetFrequencies drops every frequency: what was erased must not weigh in what is found.
func (s *docFrequency) forgetFrequencies() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.seen)
	s.era++
}

// recallFrequencies is of for what was measured before; ok is false when that is not every word.
func (s *docFrequency) recallFrequencies(sc scope.Scope, among keyword.Query, n int, ws []string) (df []float64, ok bool) {
	key := frequencyKey{tenant: sc.Tenant(), filter: hashFilter(among.Filter, among.Exclude)}
	df = make([]float64, len(ws))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range ws {
		key.word = w
		known, ok := s.seen[key]
		if !ok || known.isOutdated(n) {
			return nil, false
		}
		df[i] = known.value * float64(n)
	}
	return df, true
}

// findFrequencies returns the document frequency of each word among the n documents of a query.
func (s *docFrequency) findFrequencies(ctx context.Context, sc scope.Scope, among keyword.Query, n int, ws []string) ([]float64, error) {
	key := frequencyKey{tenant: sc.Tenant(), filter: hashFilter(among.Filter, among.Exclude)}
	out := make([]float64, len(ws))
	for i, w := range ws {
		key.word = w
		s.mu.Lock()
		known, ok := s.seen[key]
		era := s.era
		s.mu.Unlock()
		if !ok || known.isOutdated(n) {
			res, err := s.index.Search(ctx, sc, oneWord(among, w))
			if err != nil {
				return nil, err
			}
			known = frequencyOf(&res)
			s.storeFrequency(key, known, era)
		}
		out[i] = known.value * float64(n)
	}
	return out, nil
}

// isOutdated reports whether the documents are too many more, or fewer, than when it was measured.
func (s frequency) isOutdated(n int) bool { return 5*max(s.n-n, n-s.n) > s.n }

// frequencyOf is what a one-word search says.
func frequencyOf(res *keyword.Result) frequency {
	out := frequency{n: res.N}
	if res.Mean > 0 {
		square := res.Mean * res.Mean
		out.value = square / (square + res.SD*res.SD)
	}
	return out
}

// measureFrequencies looks at words under several filters at once, among as many documents as each
// lets through, where the index can do that. What it does not find out, of does.
func (s *docFrequency) measureFrequencies(ctx context.Context, sc scope.Scope, among keyword.Query, filters []schemas.Filter, n []int, ws []string) {
	index, ok := s.index.(keyword.Batch)
	if !ok {
		return
	}
	for _, w := range ws {
		var some []schemas.Filter
		var keys []frequencyKey
		s.mu.Lock()
		era := s.era
		for i, f := range filters {
			key := frequencyKey{tenant: sc.Tenant(), filter: hashFilter(f, among.Exclude), word: w}
			if known, ok := s.seen[key]; !ok || known.isOutdated(n[i]) {
				some = append(some, f)
				keys = append(keys, key)
			}
		}
		s.mu.Unlock()
		if len(some) < 2 {
			continue
		}
		results, err := index.SearchEach(ctx, sc, oneWord(among, w), some)
		if err != nil {
			return
		}
		for i := range results {
			s.storeFrequency(keys[i], frequencyOf(&results[i]), era)
		}
	}
}

func (s *docFrequency) storeFrequency(key frequencyKey, v frequency, era uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if era != s.era {
		return
	}
	if len(s.seen) >= maxFrequencies {
		clear(s.seen)
	}
	s.seen[key] = v
}

// oneWord is a query for a word among the documents of another query.
func oneWord(among keyword.Query, word string) keyword.Query {
	among.Text = word
	among.Limit = 1
	return among
}

// hashFilter hashes a filter's conditions, and the documents that do not count.
func hashFilter(f schemas.Filter, without []string) uint64 {
	h := fnv.New64a()
	for _, id := range without {
		h.Write([]byte(id + "\x00"))
	}
	for _, c := range f.Conds() {
		h.Write([]byte(string(c.Field) + "\x00" + string(c.Op) + "\x00"))
		for _, v := range c.Values {
			h.Write([]byte(v + "\x00"))
		}
		bits := uint64(int64(c.Number * 1e6))
		for range 8 {
			h.Write([]byte{byte(bits)})
			bits >>= 8
		}
	}
	return h.Sum64()
}
