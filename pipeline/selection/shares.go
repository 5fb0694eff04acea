package selection

import (
	"context"
	"hash/fnv"
	"sync"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
)

// shares knows in which share of the documents a word occurs. A one-word search
// returns the moments of its score; where the score is nearly the same wherever the
// word occurs, mean² / (mean² + variance) is that share. It is a bounded cache: a share
// is measured again when the number of documents has moved by a fifth.
type shares struct {
	index keyword.Index

	mu   sync.Mutex
	seen map[shareKey]share
	era  uint64 // counts forget: what was measured before is not kept after it
}

type shareKey struct {
	tenant string
	filter uint64 // what one principal may see says nothing about another
	word   string
}

type share struct {
	value float64
	n     int
}

const maxShares = 16 << 10

func newShares(index keyword.Index) *shares {
	return &shares{index: index, seen: map[shareKey]share{}}
}

// forget drops every share: what was erased must not weigh in what is found.
func (s *shares) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.seen)
	s.era++
}

// known is of for what was measured before; ok is false when that is not every word.
func (s *shares) known(sc scope.Scope, f schemas.Filter, n int, ws []string) (df []float64, ok bool) {
	key := shareKey{tenant: sc.Tenant(), filter: fingerprint(f)}
	df = make([]float64, len(ws))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range ws {
		key.word = w
		known, ok := s.seen[key]
		if !ok || known.old(n) {
			return nil, false
		}
		df[i] = known.value * float64(n)
	}
	return df, true
}

// of returns the document frequency of each word among n documents.
func (s *shares) of(ctx context.Context, sc scope.Scope, f schemas.Filter, n int, ws []string) ([]float64, error) {
	key := shareKey{tenant: sc.Tenant(), filter: fingerprint(f)}
	out := make([]float64, len(ws))
	for i, w := range ws {
		key.word = w
		s.mu.Lock()
		known, ok := s.seen[key]
		era := s.era
		s.mu.Unlock()
		if !ok || known.old(n) {
			res, err := s.index.Search(ctx, sc, keyword.Query{Text: w, Limit: 1, Filter: f})
			if err != nil {
				return nil, err
			}
			known = shareOf(&res)
			s.put(key, known, era)
		}
		out[i] = known.value * float64(n)
	}
	return out, nil
}

// old reports whether the documents are too many more, or fewer, than when it was measured.
func (s share) old(n int) bool { return 5*max(s.n-n, n-s.n) > s.n }

// shareOf is what a one-word search says.
func shareOf(res *keyword.Result) share {
	out := share{n: res.N}
	if res.Mean > 0 {
		square := res.Mean * res.Mean
		out.value = square / (square + res.SD*res.SD)
	}
	return out
}

// measure looks at words under several filters at once, among as many documents as each
// lets through, where the index can do that. What it does not find out, of does.
func (s *shares) measure(ctx context.Context, sc scope.Scope, filters []schemas.Filter, n []int, ws []string) {
	index, ok := s.index.(keyword.Batch)
	if !ok {
		return
	}
	for _, w := range ws {
		var some []schemas.Filter
		var keys []shareKey
		s.mu.Lock()
		era := s.era
		for i, f := range filters {
			key := shareKey{tenant: sc.Tenant(), filter: fingerprint(f), word: w}
			if known, ok := s.seen[key]; !ok || known.old(n[i]) {
				some, keys = append(some, f), append(keys, key)
			}
		}
		s.mu.Unlock()
		if len(some) < 2 {
			continue
		}
		results, err := index.SearchEach(ctx, sc, keyword.Query{Text: w, Limit: 1}, some)
		if err != nil {
			return
		}
		for i := range results {
			s.put(keys[i], shareOf(&results[i]), era)
		}
	}
}

func (s *shares) put(key shareKey, v share, era uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if era != s.era {
		return
	}
	if len(s.seen) >= maxShares {
		clear(s.seen)
	}
	s.seen[key] = v
}

// fingerprint hashes a filter's conditions.
func fingerprint(f schemas.Filter) uint64 {
	h := fnv.New64a()
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
