// Package vectortest is the conformance suite of every vector.Driver.
package vectortest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// Features says what a driver promises beyond vector.Index.
type Features struct {
	ExactMoments bool    // Mean, SD and N are over every item, not over a sample
	Tolerance    float64 // how far a score may be from the cosine; 0: 0.02
}

// suite is a fresh index for one test.
type suite struct {
	*testing.T
	Features
	d    vector.Driver
	x    *vector.Vectors
	dims int
}

// Run holds the driver that open returns, empty and its own for each test, to the
// contract of vector.Index. The driver needs at least 8 dimensions.
func Run(t *testing.T, f Features, open func(t *testing.T) vector.Driver) {
	if f.Tolerance == 0 {
		f.Tolerance = .02
	}
	for name, test := range map[string]func(*suite){
		"no scope":             noScope,
		"refused":              refused,
		"empty":                empty,
		"cosines":              cosines,
		"chunks and axes":      chunksAndAxes,
		"chunk by chunk":       chunkByChunk,
		"ties":                 ties,
		"idempotent":           idempotent,
		"replace and remove":   replaceAndRemove,
		"remove at once":       removeAtOnce,
		"tenants":              tenants,
		"filter":               filter,
		"filters at once":      each,
		"excluded":             excluded,
		"uncounted":            uncounted,
		"zero vectors":         zeroVectors,
		"reset":                reset,
		"cancelled":            cancelled,
		"digest is of content": digestOfContent,
		"history":              history,
		"concurrent":           concurrent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			test(&suite{T: t, Features: f, d: d, x: vector.New(d), dims: d.Dimensions()})
		})
	}
}

func (t *suite) scope(tenant string) scope.Scope {
	t.Helper()
	return folded.Tenant(t.T, tenant)
}

// unit is a vector with numbers in front and zeros behind.
func (t *suite) unit(numbers ...float64) []float32 { return unit(t.dims, numbers...) }

func unit(dims int, numbers ...float64) []float32 {
	sum := 0.0
	for _, x := range numbers {
		sum += x * x
	}
	v := make([]float32, dims)
	for i, x := range numbers {
		v[i] = float32(x / math.Sqrt(sum))
	}
	return v
}

func doc(at int64, id string, vectors ...[]float32) vector.Change {
	d := &vector.Doc{ID: id, Position: at, Facets: schemas.Facets{Kind: schemas.KindMemory, Trust: .5}}
	for i, v := range vectors {
		d.Chunks = append(d.Chunks, vector.Chunk{Span: schemas.Span{Start: i * 100, End: i*100 + 100}, Vector: v})
	}
	return vector.Change{Position: at, Put: d}
}

func (t *suite) apply(s scope.Scope, upTo int64, changes ...vector.Change) {
	t.Helper()
	must.Do(t, t.x.Apply(t.Context(), s, changes, upTo))
	at, err := t.x.Checkpoint(t.Context(), s)
	if err != nil || at < upTo {
		t.Fatalf("checkpoint %d after %d, error %v", at, upTo, err)
	}
}

func (t *suite) search(s scope.Scope, q vector.Query) vector.Result {
	t.Helper()
	return must.Get(t.x.Search(t.Context(), s, q))(t)
}

func (t *suite) ask(v []float32, limit int) vector.Query {
	return vector.Query{Vector: v, Limit: limit, Filter: schemas.MatchAll()}
}

func ids(r vector.Result) []string {
	out := []string{}
	for _, h := range r.Hits {
		out = append(out, h.ID)
	}
	return out
}

func (t *suite) wantIDs(r vector.Result, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), ids(r)); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}

func noScope(t *suite) {
	ctx, none, q := t.Context(), scope.Scope{}, t.ask(t.unit(1), 1)
	_, checkpoint := t.x.Checkpoint(ctx, none)
	_, search := t.x.Search(ctx, none, q)
	_, score := t.x.Score(ctx, none, q, []string{"a"})
	_, digest := t.x.Digest(ctx, none)
	for name, err := range map[string]error{
		"apply": t.x.Apply(ctx, none, nil, 1), "checkpoint": checkpoint, "search": search, "score": score,
		"digest": digest, "reset": t.x.Reset(ctx, none),
	} {
		if !errors.Is(err, scope.ErrNone) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func refused(t *suite) {
	s, ctx := t.scope("acme"), t.Context()
	bad := map[string][]float32{"none": nil, "short": t.unit(1)[1:], "long": append(t.unit(1), 0), "nan": t.unit(1), "inf": t.unit(1)}
	bad["nan"][3], bad["inf"][3] = float32(math.NaN()), float32(math.Inf(-1))
	for name, v := range bad {
		if err := t.x.Apply(ctx, s, []vector.Change{doc(1, "fine", t.unit(1)), doc(2, "bad", t.unit(1), v)}, 2); !errors.Is(err, vector.ErrDimension) {
			t.Errorf("apply %s: error %v", name, err)
		}
		if _, err := t.x.Search(ctx, s, t.ask(v, 1)); !errors.Is(err, vector.ErrDimension) {
			t.Errorf("search %s: error %v", name, err)
		}
		if _, err := t.x.Score(ctx, s, t.ask(v, 1), []string{"fine"}); !errors.Is(err, vector.ErrDimension) {
			t.Errorf("score %s: error %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"falling": t.x.Apply(ctx, s, []vector.Change{doc(2, "a", t.unit(1)), doc(1, "b", t.unit(1))}, 2),
		"beyond":  t.x.Apply(ctx, s, []vector.Change{doc(2, "a", t.unit(1))}, 1),
	} {
		if !errors.Is(err, vector.ErrOrder) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := t.x.Apply(ctx, s, []vector.Change{doc(1, "", t.unit(1))}, 1); err == nil {
		t.Error("an item without an id was taken")
	}
	for _, limit := range []int{-1, vector.MaxLimit + 1} {
		if _, err := t.x.Search(ctx, s, t.ask(t.unit(1), limit)); err == nil {
			t.Errorf("limit %d was taken", limit)
		}
	}
	if at, err := t.x.Checkpoint(ctx, s); err != nil || at != 0 {
		t.Errorf("checkpoint %d, error %v", at, err)
	}
	if r := t.search(s, t.ask(t.unit(1), 10)); r.N != 0 || len(r.Hits) != 0 {
		t.Errorf("what was refused is there: %+v", r)
	}
}

func empty(t *suite) {
	s := t.scope("acme")
	if r := t.search(s, t.ask(t.unit(1), 10)); len(r.Hits) != 0 || cmp.Diff(vector.Result{Hits: r.Hits}, r) != "" {
		t.Errorf("result %+v", r)
	}
	scores, err := t.x.Score(t.Context(), s, t.ask(t.unit(1), 0), []string{"a", "b"})
	if diff := cmp.Diff([]float64{0, 0}, scores); err != nil || diff != "" {
		t.Errorf("error %v, %s", err, diff)
	}
}

func cosines(t *suite) {
	s := t.scope("acme")
	var changes []vector.Change
	for i := range 20 {
		changes = append(changes, doc(int64(i+1), fmt.Sprintf("item-%02d", i), t.unit(math.Cos(float64(i)/7), math.Sin(float64(i)/7), .1)))
	}
	t.apply(s, 20, changes...)
	q := t.ask(t.unit(1, 0, .1), 5)
	r := t.search(s, q)
	t.wantIDs(r, "item-00", "item-01", "item-02", "item-03", "item-04")
	for i, h := range r.Hits {
		want := 0.0
		for j, x := range changes[i].Put.Chunks[0].Vector {
			want += float64(x) * float64(q.Vector[j])
		}
		if math.Abs(h.Score-want) > t.Tolerance || h.Score > 1.0001 {
			t.Errorf("%s scores %v, the cosine is %v", h.ID, h.Score, want)
		}
	}
	t.checkMoments(s, q, 20)
	if r := t.search(s, t.ask(q.Vector, 0)); len(r.Hits) != 0 || t.ExactMoments && r.N != 20 {
		t.Errorf("limit 0: %+v", r)
	}
}

// checkMoments compares a search with the scores of every one of its n items.
func (t *suite) checkMoments(s scope.Scope, q vector.Query, n int) {
	t.Helper()
	q.Limit = vector.MaxLimit
	r := t.search(s, q)
	if len(r.Hits) != n {
		t.Fatalf("%d hits, want %d", len(r.Hits), n)
	}
	scores := must.Get(t.x.Score(t.Context(), s, q, append(ids(r), "absent")))(t)
	sum, squares := 0.0, 0.0
	for i, h := range r.Hits {
		if scores[i] != h.Score {
			t.Errorf("%s: score %v, search says %v", h.ID, scores[i], h.Score)
		}
		sum += h.Score
		squares += h.Score * h.Score
	}
	if scores[n] != 0 {
		t.Errorf("an absent item scores %v", scores[n])
	}
	if !t.ExactMoments || n == 0 {
		return
	}
	mean := sum / float64(n)
	sd := math.Sqrt(max(0, squares/float64(n)-mean*mean))
	if r.N != n || math.Abs(r.Mean-mean) > 1e-8 || math.Abs(r.SD-sd) > 1e-6 {
		t.Errorf("n %d mean %v sd %v, want %d %v %v", r.N, r.Mean, r.SD, n, mean, sd)
	}
}

func cancelled(t *suite) {
	s := t.scope("acme")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := t.x.Apply(ctx, s, []vector.Change{doc(1, "a", t.unit(1))}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("apply: error %v", err)
	}
	if _, err := t.x.Search(ctx, s, t.ask(t.unit(1), 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("search: error %v", err)
	}
}

// uncounted: what the filter lets through beyond the population is found, and moves no moment.
func uncounted(t *suite) {
	s := t.scope("acme")
	t.apply(s, 2, doc(1, "a", t.unit(1, 1)), doc(2, "b", t.unit(1, .2), t.unit(0, 1)))
	q := t.ask(t.unit(1), 5)
	q.Population = schemas.Where(schemas.Cond{Field: schemas.FieldLabels, Op: schemas.NotIn, Values: []string{"x"}})
	alone := t.search(s, q)
	x := doc(3, "x", t.unit(1), t.unit(.9, 0, 1))
	x.Put.Facets.Labels = []string{"x"}
	t.apply(s, 3, x)
	for _, filters := range [][]schemas.Filter{{q.Filter}, {q.Filter, schemas.MatchNone(), q.Filter}} {
		with := must.Get(t.x.SearchEach(t.Context(), s, q, filters))(t)
		last := with[len(with)-1]
		if diff := cmp.Diff([]string{"x", "b", "a"}, ids(last)); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
		if last.N != alone.N || last.Mean != alone.Mean || last.SD != alone.SD {
			t.Errorf("moments %d %v %v, without what is not counted %d %v %v", last.N, last.Mean, last.SD, alone.N, alone.Mean, alone.SD)
		}
	}
	q.Population = schemas.Where(schemas.Cond{Field: schemas.FieldLabels, Op: schemas.In, Values: []string{"nothing"}})
	if r := t.search(s, q); len(r.Hits) != 3 || cmp.Diff(vector.Result{Hits: r.Hits}, r) != "" {
		t.Errorf("where nothing counts: %+v", r)
	}
}

// excluded: a search passes over what it excludes as if it were not there.
func excluded(t *suite) {
	s := t.scope("acme")
	a, b, c := doc(1, "a", t.unit(1, 1)), doc(2, "b", t.unit(1, .2), t.unit(0, 1)), doc(3, "c", t.unit(.1, 1, 1))
	t.apply(s, 3, a, b, c)
	q := t.ask(t.unit(1), 2)
	alone := t.search(s, q)
	x, y := doc(4, "x", t.unit(1)), doc(5, "y", t.unit(1, .1), t.unit(.9, 0, 1))
	t.apply(s, 5, x, y)
	q.Exclude = []string{"y", "x", "never there"}
	if diff := cmp.Diff(alone, t.search(s, q)); diff != "" {
		t.Errorf("excluded items change what is found (-without +with):\n%s", diff)
	}
	scores, err := t.x.Score(t.Context(), s, q, []string{"x", "b"})
	if err != nil || scores[0] != 0 || scores[1] <= 0 {
		t.Errorf("scores of an excluded and another item: %v, %v", scores, err)
	}
}
