package vectortest

import (
	"sync"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

func chunksAndAxes(t *suite) {
	s := t.scope("acme")
	both := doc(1, "both", t.unit(0, 1), t.unit(1, 1), t.unit(1, 1))
	both.Put.Chunks = append(both.Put.Chunks,
		vector.Chunk{Axis: "strategy", Span: schemas.Span{Start: 5, End: 70_000}, Vector: t.unit(1)})
	t.apply(s, 3, both, doc(2, "plain", t.unit(1, .2)), doc(3, "bare"))

	r := t.search(s, t.ask(t.unit(1), 10))
	t.wantIDs(r, "plain", "both")
	if want := (schemas.Span{Start: 100, End: 200}); r.Hits[1].Span != want {
		t.Errorf("span %v, want that of the best chunk, %v", r.Hits[1].Span, want)
	}
	t.checkMoments(s, t.ask(t.unit(1), 10), 2)

	q := t.ask(t.unit(1), 10)
	q.Axis = "strategy"
	r = t.search(s, q)
	t.wantIDs(r, "both")
	if want := (schemas.Span{Start: 5, End: 70_000}); r.Hits[0].Span != want {
		t.Errorf("span %v, want %v", r.Hits[0].Span, want)
	}
	t.checkMoments(s, q, 1)
	q.Axis = "surprise"
	t.wantIDs(t.search(s, q))
	t.checkMoments(s, q, 0)
}

func ties(t *suite) {
	s := t.scope("acme")
	t.apply(s, 6, doc(1, "d", t.unit(1, 1)), doc(2, "b", t.unit(1, 1)), doc(3, "a", t.unit(1)),
		doc(4, "c", t.unit(1, 1)), doc(5, "e", t.unit(1, 1)), doc(6, "f", t.unit(0, 1)))
	for limit, want := range [][]string{{}, {"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "b", "c", "d"}, {"a", "b", "c", "d", "e"}} {
		t.wantIDs(t.search(s, t.ask(t.unit(1), limit)), want...)
	}
}

func idempotent(t *suite) {
	s := t.scope("acme")
	first := []vector.Change{doc(1, "a", t.unit(1)), doc(2, "b", t.unit(0, 1)), {Position: 3, Remove: []string{"b"}}}
	t.apply(s, 3, first...)
	before := must.Get(t.x.Digest(t.Context(), s))(t)
	t.apply(s, 3, first...)
	t.apply(s, 2, first[:2]...)
	t.apply(s, 3, doc(3, "a", t.unit(0, 0, 1)))
	if after, err := t.x.Digest(t.Context(), s); err != nil || after != before {
		t.Errorf("applied again, the index has changed; error %v", err)
	}
	if at, err := t.x.Checkpoint(t.Context(), s); err != nil || at != 3 {
		t.Errorf("checkpoint %d, error %v", at, err)
	}
	t.apply(s, 9, append(first, doc(5, "c", t.unit(1)))...)
	t.wantIDs(t.search(s, t.ask(t.unit(1), 10)), "a", "c")
	if at, err := t.x.Checkpoint(t.Context(), s); err != nil || at != 9 {
		t.Errorf("checkpoint %d, error %v", at, err)
	}
}

func replaceAndRemove(t *suite) {
	s := t.scope("acme")
	t.apply(s, 2, doc(1, "a", t.unit(1), t.unit(1, .5)), doc(2, "b", t.unit(0, 1)))
	t.apply(s, 3, doc(3, "a", t.unit(0, 0, 1)))
	r := t.search(s, t.ask(t.unit(1, 0, 1), 10))
	t.wantIDs(r, "a", "b")
	t.checkMoments(s, t.ask(t.unit(1), 10), 2)
	t.remains(s, 2, "a", "b", "never")
	t.apply(s, 4, vector.Change{Position: 4, Remove: []string{"a", "never"}})
	t.remains(s, 1, "a", "b", "never")
	t.wantIDs(t.search(s, t.ask(t.unit(0, 0, 1), 10)), "b")
	t.checkMoments(s, t.ask(t.unit(1), 10), 1)
	again := doc(5, "b", t.unit(1))
	again.Remove = []string{"b"} // removals come before the put
	t.apply(s, 5, again)
	t.wantIDs(t.search(s, t.ask(t.unit(1), 10)), "b")
	t.apply(s, 7, doc(6, "c", t.unit(1)), vector.Change{Position: 7, Remove: []string{"b", "c"}})
	t.wantIDs(t.search(s, t.ask(t.unit(1), 10)))
}

func removeAtOnce(t *suite) {
	s, other := t.scope("acme"), t.scope("other")
	first := []vector.Change{doc(1, "a", t.unit(1), t.unit(1, .5)), doc(2, "b", t.unit(0, 1))}
	t.apply(s, 2, first...)
	t.apply(other, 1, doc(1, "a", t.unit(1)))
	for range 2 {
		must.Do(t, t.x.Remove(t.Context(), s, []string{"a", "never"}, 2))
	}
	t.remains(s, 1, "a", "b", "never")
	t.apply(s, 2, first...) // of which it has all
	t.wantIDs(t.search(s, t.ask(t.unit(1), 10)), "b")
	t.wantIDs(t.search(other, t.ask(t.unit(1), 10)), "a")
	if at, err := t.x.Checkpoint(t.Context(), s); err != nil || at != 2 {
		t.Errorf("checkpoint %d, error %v", at, err)
	}
	t.apply(s, 3, doc(3, "a", t.unit(1)))
	must.Do(t, t.x.Remove(t.Context(), s, []string{"a", "b"}, 2))
	t.wantIDs(t.search(s, t.ask(t.unit(1), 10)), "a") // it came later
}

func (t *suite) remains(s scope.Scope, want int, ids ...string) {
	t.Helper()
	folded.Remains(t.T, t.d, s, want, ids...)
}

func tenants(t *suite) {
	a, b := t.scope("acme"), t.scope("Acme")
	t.apply(a, 1, doc(1, "same", t.unit(1)))
	t.apply(b, 2, doc(1, "same", t.unit(0, 1)), doc(2, "other", t.unit(1)))
	t.wantIDs(t.search(a, t.ask(t.unit(1), 10)), "same")
	t.wantIDs(t.search(b, t.ask(t.unit(1), 10)), "other", "same")
	t.apply(b, 3, vector.Change{Position: 3, Remove: []string{"same"}})
	must.Do(t, t.x.Reset(t.Context(), t.scope("third")))
	t.wantIDs(t.search(a, t.ask(t.unit(1), 10)), "same")
	if at, err := t.x.Checkpoint(t.Context(), a); err != nil || at != 1 {
		t.Errorf("checkpoint %d, error %v", at, err)
	}
}

func filter(t *suite) {
	s := t.scope("acme")
	var changes []vector.Change
	for i, level := range []schemas.Level{0, 1, 2, 3} {
		c := doc(int64(i+1), string(rune('a'+i)), t.unit(1, float64(i)))
		c.Put.Facets.Level = level
		c.Put.Facets.Groups = []string{"dev"}[:i%2]
		changes = append(changes, c)
	}
	t.apply(s, 4, changes...)
	for _, c := range []struct {
		filter schemas.Filter
		want   []string
	}{
		{schemas.MatchAll(), []string{"a", "b", "c", "d"}},
		{schemas.MatchNone(), nil},
		{schemas.Filter{}, nil},
		{schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 1}), []string{"a", "b"}},
		{schemas.Where(schemas.Cond{Field: schemas.FieldGroups, Op: schemas.EmptyOrIn}), []string{"a", "c"}},
		{schemas.Where(schemas.Cond{Field: schemas.FieldGroups, Op: schemas.In, Values: []string{"dev"}},
			schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtLeast, Number: 2}), []string{"d"}},
	} {
		q := t.ask(t.unit(1), 10)
		q.Filter = c.filter
		t.wantIDs(t.search(s, q), c.want...)
		t.checkMoments(s, q, len(c.want))
		scores := must.Get(t.x.Score(t.Context(), s, q, []string{"a", "b", "c", "d"}))(t)
		passing := 0
		for _, score := range scores {
			if score != 0 {
				passing++
			}
		}
		if passing != len(c.want) {
			t.Errorf("%d items score, want %d", passing, len(c.want))
		}
	}
}

func zeroVectors(t *suite) {
	s := t.scope("acme")
	t.apply(s, 3, doc(1, "zero", t.unit()), doc(2, "one", t.unit(1)), doc(3, "minus", t.unit(-1)))
	r := t.search(s, t.ask(t.unit(1), 10))
	t.wantIDs(r, "one", "zero", "minus")
	if len(r.Hits) == 3 && r.Hits[1].Score != 0 {
		t.Errorf("the zero vector scores %v", r.Hits[1].Score)
	}
	r = t.search(s, t.ask(t.unit(), 10))
	if t.wantIDs(r); r.Mean != 0 || r.SD != 0 {
		t.Errorf("moments of the zero query: %+v", r)
	}
	scores, err := t.x.Score(t.Context(), s, t.ask(t.unit(), 10), []string{"one", "zero"})
	if diff := cmp.Diff([]float64{0, 0}, scores); err != nil || diff != "" {
		t.Errorf("error %v, %s", err, diff)
	}
}

func reset(t *suite) {
	s := t.scope("acme")
	fresh := must.Get(t.x.Digest(t.Context(), s))(t)
	t.apply(s, 1, doc(1, "a", t.unit(1)))
	must.Do(t, t.x.Reset(t.Context(), s))
	t.wantIDs(t.search(s, t.ask(t.unit(1), 10)))
	if at, err := t.x.Checkpoint(t.Context(), s); err != nil || at != 0 {
		t.Errorf("checkpoint %d, error %v", at, err)
	}
	if after, err := t.x.Digest(t.Context(), s); err != nil || after != fresh {
		t.Errorf("the digest is not that of an empty index; error %v", err)
	}
	t.apply(s, 1, doc(1, "a", t.unit(1)))
	t.wantIDs(t.search(s, t.ask(t.unit(1), 10)), "a")
}

func digestOfContent(t *suite) {
	base := func() vector.Change { return doc(1, "a", t.unit(1, 2), t.unit(2, 1)) }
	seen := map[[32]byte]string{}
	for name, change := range map[string]func(*vector.Doc){
		"base":     func(*vector.Doc) {},
		"id":       func(d *vector.Doc) { d.ID = "b" },
		"position": func(d *vector.Doc) { d.Position = 2 },
		"vector":   func(d *vector.Doc) { d.Chunks[0].Vector = t.unit(1, 3) },
		"span":     func(d *vector.Doc) { d.Chunks[0].Span.End++ },
		"axis":     func(d *vector.Doc) { d.Chunks[0].Axis = "x" },
		"facets":   func(d *vector.Doc) { d.Facets.Level = 3 },
		"order":    func(d *vector.Doc) { d.Chunks[0], d.Chunks[1] = d.Chunks[1], d.Chunks[0] },
		"fewer":    func(d *vector.Doc) { d.Chunks = d.Chunks[:1] },
	} {
		s, c := t.scope("tenant-"+name), base()
		change(c.Put)
		t.apply(s, 2, c)
		digest := must.Get(t.x.Digest(t.Context(), s))(t)
		if other, there := seen[digest]; there {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[digest] = name
	}
}

func concurrent(t *suite) {
	s := t.scope("acme")
	const n, readers = 150, 3
	done := make(chan struct{})
	var group sync.WaitGroup
	for range readers {
		group.Go(func() {
			for last := 0; ; {
				r, err := t.x.Search(t.Context(), s, t.ask(t.unit(1, 1), 10))
				if err != nil {
					t.Error(err)
					return
				}
				if r.N+3 < last { // one item in three is removed again, one at a time
					t.Errorf("%d items after %d", r.N, last)
				}
				last = r.N
				if _, err := t.x.Score(t.Context(), s, t.ask(t.unit(1, 1), 0), ids(r)); err != nil {
					t.Error(err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range n {
		at := int64(2*i + 1)
		id := string([]byte{byte('a' + i%26), byte('a' + i/26)})
		changes := []vector.Change{doc(at, id, t.unit(1, float64(i)), t.unit(float64(i), 1))}
		if i%3 == 2 {
			changes = append(changes, vector.Change{Position: at + 1, Remove: []string{id}})
		}
		if err := t.x.Apply(t.Context(), s, changes, at+1); err != nil {
			t.Error(err)
		}
	}
	close(done)
	group.Wait()
	if r := t.search(s, t.ask(t.unit(1), 10)); t.ExactMoments && r.N != 2*n/3 {
		t.Errorf("%d items, want %d", r.N, 2*n/3)
	}
}
