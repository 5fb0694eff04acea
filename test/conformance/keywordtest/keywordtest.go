// Package keywordtest is the conformance suite of keyword.Index: Run holds a driver to
// everything the port promises. A driver's tests call it with a way to open the index
// and say by Features what its engine cannot do exactly.
package keywordtest

import (
	"errors"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// Features says what a driver does exactly; where it does not, the suite checks order,
// filters and agreement between Search and Score, but no figures.
type Features struct {
	ExactBM25    bool // scores are the formula of package keyword
	ExactMoments bool // Mean, SD and N are over every document that passes the filter
	Batch        bool // it is a keyword.Batch
	OwnAnalysis  bool // documents are found by the terms of package keyword, not by those of an engine's dictionaries
}

// Run runs the suite. open MUST return an index no tenant of which holds anything, and
// take care of closing it; it is called once for every test, in parallel.
func Run(t *testing.T, f Features, open func(t *testing.T) keyword.Index) {
	tests := []struct {
		name string
		run  func(*suite)
	}{
		{"ZeroScope", zeroScope},
		{"Cancelled", cancelled},
		{"Search", search},
		{"Ties", ties},
		{"Limit", limit},
		{"NothingToFind", nothingToFind},
		{"Filter", filter},
		{"FiltersAtOnce", each},
		{"HiddenDocumentsLeaveNoTrace", hidden},
		{"Population", population},
		{"FoundAndNotCounted", uncounted},
		{"Excluded", excluded},
		{"Texts", texts},
		{"Tenants", tenants},
		{"Idempotence", idempotence},
		{"ReplaceRemoveReturn", replace},
		{"Digest", digest},
		{"Reset", reset},
		{"Concurrent", concurrent},
	}
	if f.OwnAnalysis {
		tests = append(tests, []struct {
			name string
			run  func(*suite)
		}{{"Unicode", unicodeText}, {"Compounds", compounds}, {"Model", modelled}}...)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(&suite{T: t, features: f, x: open(t), s: folded.Tenant(t, "acme")})
		})
	}
}

// suite is one test's index and its scope.
type suite struct {
	*testing.T
	features Features
	x        keyword.Index
	s        scope.Scope
}

// put applies one document per position from the next one on.
func (s *suite) put(sc scope.Scope, docs ...keyword.Doc) {
	s.Helper()
	at := s.checkpoint(sc)
	changes := make([]keyword.Change, len(docs))
	for i := range docs {
		at++
		docs[i].Position = at
		changes[i] = keyword.Change{Position: at, Put: &docs[i]}
	}
	s.apply(sc, changes, at)
}

func (s *suite) remove(sc scope.Scope, ids ...string) {
	s.Helper()
	at := s.checkpoint(sc) + 1
	s.apply(sc, []keyword.Change{{Position: at, Remove: ids}}, at)
}

func (s *suite) apply(sc scope.Scope, changes []keyword.Change, upTo int64) {
	s.Helper()
	must.Do(s, s.x.Apply(s.Context(), sc, changes, upTo))
}

func (s *suite) checkpoint(sc scope.Scope) int64 {
	s.Helper()
	return must.Get(s.x.Checkpoint(s.Context(), sc))(s)
}

func (s *suite) digest(sc scope.Scope) [32]byte {
	s.Helper()
	return must.Get(s.x.Digest(s.Context(), sc))(s)
}

// search returns what q finds in sc, having checked that it is in order and that Score
// agrees with it.
func (s *suite) search(sc scope.Scope, q keyword.Query) keyword.Result {
	s.Helper()
	res := must.Get(s.x.Search(s.Context(), sc, q))(s)
	must.Do(s, agrees(s, sc, q, res))
	return res
}

// agrees checks res against the contract and against Score.
func agrees(s *suite, sc scope.Scope, q keyword.Query, res keyword.Result) error {
	if len(res.Hits) > q.Limit {
		return errors.New("more hits than the limit")
	}
	found := make([]string, len(res.Hits))
	for i, h := range res.Hits {
		found[i] = h.ID
		if h.Score <= 0 {
			return errors.New("a hit without a score")
		}
		if i > 0 && (h.Score > res.Hits[i-1].Score || h.Score == res.Hits[i-1].Score && h.ID <= res.Hits[i-1].ID) {
			return errors.New("hits are out of order")
		}
	}
	scores, err := s.x.Score(s.Context(), sc, q, found)
	if err != nil {
		return err
	}
	if len(scores) != len(found) {
		return errors.New("not a score for each id")
	}
	for i, h := range res.Hits {
		if scores[i] != h.Score {
			return errors.New("the score of an id differs from the search's")
		}
	}
	return nil
}

// finds fails unless text finds exactly these ids, in this order.
func (s *suite) finds(sc scope.Scope, text string, want ...string) {
	s.Helper()
	res := s.search(sc, all(text))
	got := ids(res)
	if len(got) != len(want) {
		s.Fatalf("%q finds %v, want %v", text, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			s.Fatalf("%q finds %v, want %v", text, got, want)
		}
	}
}

func all(text string) keyword.Query {
	return keyword.Query{Population: schemas.MatchAll(), Text: text, Limit: 100, Filter: schemas.MatchAll()}
}

func ids(r keyword.Result) []string {
	out := make([]string, len(r.Hits))
	for i, h := range r.Hits {
		out[i] = h.ID
	}
	return out
}

func doc(id, text string) keyword.Doc {
	return keyword.Doc{ID: id, Text: text, Facets: schemas.Facets{Kind: schemas.KindMemory}}
}

func secret(id, text string, level schemas.Level) keyword.Doc {
	d := doc(id, text)
	d.Facets.Level = level
	return d
}

// upTo passes documents of at most level.
func upTo(level schemas.Level) schemas.Filter {
	return schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: float64(level)})
}
