package keywordtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
	"satchel/test/must"
)

func zeroScope(s *suite) {
	ctx, none := s.Context(), scope.Scope{}
	calls := map[string]func() error{
		"Apply":      func() error { return s.x.Apply(ctx, none, nil, 1) },
		"Checkpoint": func() error { _, err := s.x.Checkpoint(ctx, none); return err },
		"Search":     func() error { _, err := s.x.Search(ctx, none, all("a")); return err },
		"Score":      func() error { _, err := s.x.Score(ctx, none, all("a"), []string{"a"}); return err },
		"Digest":     func() error { _, err := s.x.Digest(ctx, none); return err },
		"Reset":      func() error { return s.x.Reset(ctx, none) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, scope.ErrNone) {
			s.Errorf("%s with the zero scope: %v", name, err)
		}
	}
}

func cancelled(s *suite) {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	d := doc("a", "lighthouse")
	d.Position = 1
	if err := s.x.Apply(ctx, s.s, []keyword.Change{{Position: 1, Put: &d}}, 1); !errors.Is(err, context.Canceled) {
		s.Errorf("apply: %v", err)
	}
	if _, err := s.x.Search(ctx, s.s, all("lighthouse")); !errors.Is(err, context.Canceled) {
		s.Errorf("search: %v", err)
	}
	if at := s.checkpoint(s.s); at != 0 {
		s.Errorf("checkpoint moved to %d", at)
	}
}

func search(s *suite) {
	s.put(s.s,
		doc("a", "Anna: the lighthouse keeper painted the boat"),
		doc("b", "Ben: boats and more boats"),
		doc("c", "Cem: nothing of that kind"))
	s.finds(s.s, "lighthouse boat", "a", "b")
	s.finds(s.s, "PAINTING", "a")
	s.finds(s.s, "cem", "c")
	got, err := s.x.Score(s.Context(), s.s, all("boat"), []string{"c", "b", "missing", "a", "b"})
	if err != nil || len(got) != 5 {
		s.Fatal(got, err)
	}
	if got[0] != 0 || got[2] != 0 || got[1] <= 0 || got[3] <= 0 || got[1] != got[4] {
		s.Errorf("scores %v", got)
	}
	if s.features.ExactBM25 {
		// N 3, df 2; a has 5 terms, b 3, c 3 (cem, noth, kind).
		idf, avg := math.Log(1+1.5/2.5), 11.0/3
		if want := idf * 2 * 2.2 / (2 + 1.2*(.25+.75*3/avg)); math.Abs(got[1]-want) > 1e-12 {
			s.Errorf("score of b is %v, want %v", got[1], want)
		}
	}
}

func ties(s *suite) {
	var docs []keyword.Doc
	for i := range 40 {
		docs = append(docs, doc(fmt.Sprintf("id-%02d", (i*17)%40), "the same words"))
	}
	s.put(s.s, docs...)
	q := all("words")
	q.Limit = 7
	for i, id := range ids(s.search(s.s, q)) {
		if want := fmt.Sprintf("id-%02d", i); id != want {
			s.Errorf("hit %d is %q, want %q", i, id, want)
		}
	}
}

func limit(s *suite) {
	var docs []keyword.Doc
	for i := range 1100 {
		docs = append(docs, doc(fmt.Sprint(i), "harbour"))
	}
	s.put(s.s, docs...)
	for _, n := range []int{0, 1, 1000} {
		q := all("harbour")
		q.Limit = n
		res := s.search(s.s, q)
		if len(res.Hits) != n {
			s.Errorf("limit %d gives %d hits", n, len(res.Hits))
		}
		if s.features.ExactMoments && res.N != 1100 {
			s.Errorf("limit %d: moments over %d documents", n, res.N)
		}
	}
	for _, n := range []int{-1, keyword.MaxLimit + 1} {
		q := all("harbour")
		q.Limit = n
		if _, err := s.x.Search(s.Context(), s.s, q); err == nil {
			s.Errorf("limit %d is taken", n)
		}
	}
}

func nothingToFind(s *suite) {
	s.finds(s.s, "anything") // in an empty tenant
	s.put(s.s, doc("a", "kettle"), doc("empty", ""), doc("stop", "of the and"))
	for _, text := range []string{"", "   ", "the of and", "unknownword", "?!", "\xff\xfe"} {
		res := s.search(s.s, all(text))
		if len(res.Hits) != 0 || res.Mean != 0 || res.SD != 0 || s.features.ExactMoments && res.N != 3 {
			s.Errorf("%q: %+v", text, res)
		}
	}
	s.finds(s.s, "kettle", "a")
}

func filter(s *suite) {
	one := doc("one", "copper wire")
	one.Facets = schemas.Facets{Kind: schemas.KindCode, Session: "s1", Labels: []string{"team:a"}, Groups: []string{"red"}, Trust: .9}
	two := doc("two", "copper wire")
	two.Facets = schemas.Facets{Kind: schemas.KindMemory, Session: "s2", PII: true, Trust: .2, Level: 2}
	s.put(s.s, one, two)
	cond := func(c schemas.Cond) schemas.Filter { return schemas.Where(c) }
	for _, test := range []struct {
		f    schemas.Filter
		want string
	}{
		{schemas.MatchAll(), "[one two]"},
		{schemas.MatchNone(), "[]"},
		{schemas.Filter{}, "[]"},
		{cond(schemas.Cond{Field: schemas.FieldKind, Op: schemas.In, Values: []string{"code"}}), "[one]"},
		{cond(schemas.Cond{Field: schemas.FieldSession, Op: schemas.In, Values: []string{"s2", "s3"}}), "[two]"},
		{cond(schemas.Cond{Field: schemas.FieldGroups, Op: schemas.EmptyOrIn, Values: []string{"blue"}}), "[two]"},
		{cond(schemas.Cond{Field: schemas.FieldLabels, Op: schemas.NotIn, Values: []string{"team:a"}}), "[two]"},
		{cond(schemas.Cond{Field: schemas.FieldTrust, Op: schemas.AtLeast, Number: .5}), "[one]"},
		{cond(schemas.Cond{Field: schemas.FieldPII, Op: schemas.AtMost}), "[one]"},
		{upTo(1).And(cond(schemas.Cond{Field: schemas.FieldPII, Op: schemas.AtLeast, Number: 1})), "[]"},
	} {
		q := keyword.Query{Population: schemas.MatchAll(), Text: "copper", Limit: 10, Filter: test.f}
		res := s.search(s.s, q)
		if got := fmt.Sprint(ids(res)); got != test.want {
			s.Errorf("%v: %s, want %s", test.f.Conds(), got, test.want)
		}
		if s.features.ExactMoments && res.N != len(res.Hits) {
			s.Errorf("%v: moments over %d documents", test.f.Conds(), res.N)
		}
		scores := must.Get(s.x.Score(s.Context(), s.s, q, []string{"one", "two"}))(s)
		for i, id := range []string{"one", "two"} {
			if shown := fmt.Sprint(ids(res)); (scores[i] > 0) != containsID(res, id) {
				s.Errorf("score of %s is %v but hits are %s", id, scores[i], shown)
			}
		}
	}
}

func containsID(r keyword.Result, id string) bool {
	for _, h := range r.Hits {
		if h.ID == id {
			return true
		}
	}
	return false
}

// hidden checks that moments are over the documents the filter shows and no others.
func hidden(s *suite) {
	s.put(s.s, secret("a", "amber ring", 0), secret("b", "amber amber stone", 0), secret("c", "plain", 0),
		secret("x", "amber amber amber", 3), secret("y", "amber", 3))
	q := all("amber")
	q.Filter = upTo(1)
	res := s.search(s.s, q)
	if len(res.Hits) != 2 {
		s.Fatalf("hits %v", res.Hits)
	}
	if !s.features.ExactMoments {
		return
	}
	p, r := res.Hits[0].Score, res.Hits[1].Score
	mean := (p + r) / 3
	sd := math.Sqrt((p*p+r*r)/3 - mean*mean)
	if res.N != 3 || math.Abs(res.Mean-mean) > 1e-12 || math.Abs(res.SD-sd) > 1e-9 {
		s.Errorf("moments %v %v %d, want %v %v 3", res.Mean, res.SD, res.N, mean, sd)
	}
}

func concurrent(s *suite) {
	const docs, readers = 400, 3
	var wg sync.WaitGroup
	done := make(chan struct{})
	errs := make(chan error, readers)
	for range readers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				select {
				case <-done:
					return
				default:
				}
				res, err := s.x.Search(s.Context(), s.s, all("shared word"))
				if err == nil && s.features.ExactMoments && res.N < len(res.Hits) {
					err = errors.New("more hits than documents")
				}
				if err == nil {
					_, err = s.x.Score(s.Context(), s.s, all("shared"), ids(res))
				}
				if err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	for i := range docs {
		id := fmt.Sprint(i % 300)
		s.put(s.s, doc(id, fmt.Sprintf("shared word number%d", i)))
		s.finds(s.s, fmt.Sprintf("number%d", i), id)
		if i%10 == 9 {
			s.remove(s.s, fmt.Sprint((i-5)%300))
		}
	}
	close(done)
	wg.Wait()
	close(errs)
	for err := range errs {
		s.Error(err)
	}
}
