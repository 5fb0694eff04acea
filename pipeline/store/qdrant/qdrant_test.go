package qdrant_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/memory"
	"satchel/pipeline/store/qdrant"
	"satchel/pipeline/store/vector"
	"satchel/schemas"
	"satchel/test/conformance/vectortest"
	"satchel/test/testenv"
	"satchel/test/testenv/qdranttest"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "25"); err != nil { // each is some ten round trips
		panic(err)
	}
	m.Run()
}

const dims = 16

func config(p qdranttest.Place) qdrant.Config {
	return qdrant.Config{URL: p.URL, APIKey: p.APIKey, Collection: p.Collection, Model: "test@1", Dimensions: dims, Timeout: time.Minute}
}

func open(t testing.TB, c qdrant.Config) *qdrant.Index {
	t.Helper()
	x, err := qdrant.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// TestConformance runs the suite; moments are exact as no tenant has more than a sample.
func TestConformance(t *testing.T) {
	t.Parallel()
	place := qdranttest.Open(t)
	var n atomic.Int32
	t.Run(place.Server(), func(t *testing.T) { // so that a table says what ran
		vectortest.Run(t, vectortest.Features{ExactMoments: true}, func(t *testing.T) vector.Driver {
			c := config(place)
			c.Model = fmt.Sprint("test@", n.Add(1))
			return open(t, c)
		})
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func system(t testing.TB) scope.Scope {
	t.Helper()
	s, err := scope.System("acme")
	must(t, err)
	return s
}

func random(r *rand.Rand) []float32 {
	v, sum := make([]float32, dims), 0.0
	for i := range v {
		v[i] = float32(r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// history is a log of n changes, the same for the same n.
func history(n int) []vector.Change {
	r := rand.New(rand.NewPCG(2, uint64(n)))
	id := func() string { return fmt.Sprint("item-", r.IntN(n/2+1)) }
	some := func(of ...string) []string { return of[:r.IntN(len(of)+1)] }
	log := make([]vector.Change, n)
	for i := range log {
		at := int64(i + 1)
		log[i] = vector.Change{Position: at}
		if r.IntN(4) == 0 {
			log[i].Remove = []string{id(), id()}
			continue
		}
		d := &vector.Doc{ID: id(), Position: at, Facets: schemas.Facets{Kind: schemas.KindMemory, Session: []string{"", "s1"}[r.IntN(2)],
			Level: schemas.Level(r.IntN(4)), Labels: some("l1", "l2"), Groups: some("g1", "g2"), Trust: r.Float64(), PII: r.IntN(2) == 0}}
		for j := range r.IntN(4) {
			d.Chunks = append(d.Chunks, vector.Chunk{Axis: []string{"", "strategy"}[r.IntN(2)], Span: schemas.Span{Start: j * 10, End: j*10 + 10}, Vector: random(r)})
		}
		log[i].Put = d
	}
	return log
}

// TestSameAsTheEmbeddedIndex: one log in Qdrant and in memory is one digest, and every
// search, whatever the filter, finds the same items.
func TestSameAsTheEmbeddedIndex(t *testing.T) {
	t.Parallel()
	memory, err := memory.OpenVector(memory.VectorConfig{Dimensions: dims})
	must(t, err)
	defer memory.Close()
	want, got, s, log := vector.New(memory), vector.New(open(t, config(qdranttest.Open(t)))), system(t), history(300)
	for at := 0; at < len(log); at += 60 {
		must(t, got.Apply(t.Context(), s, log[at:at+60], int64(at+60)))
	}
	must(t, want.Apply(t.Context(), s, log, 300))
	a, err := want.Digest(t.Context(), s)
	must(t, err)
	if b, err := got.Digest(t.Context(), s); err != nil || a != b {
		t.Errorf("another digest than in memory; error %v", err)
	}
	var conds []schemas.Cond
	for _, f := range []schemas.Field{schemas.FieldSession, schemas.FieldLabels, schemas.FieldGroups, schemas.FieldLevel, schemas.FieldSigner, "unheard of"} {
		for _, op := range []schemas.Op{schemas.In, schemas.NotIn, schemas.EmptyOrIn, "other"} {
			for _, values := range [][]string{nil, {""}, {"s1", "l2", "g1"}, {"", "s1"}} {
				conds = append(conds, schemas.Cond{Field: f, Op: op, Values: values})
			}
		}
	}
	for _, f := range []schemas.Field{schemas.FieldLevel, schemas.FieldTrust, schemas.FieldPII, schemas.FieldKind} {
		conds = append(conds, schemas.Cond{Field: f, Op: schemas.AtMost, Number: .5}, schemas.Cond{Field: f, Op: schemas.AtLeast, Number: 1})
	}
	r := rand.New(rand.NewPCG(3, 3))
	for i, c := range conds {
		q := vector.Query{Vector: random(r), Axis: []string{"", "strategy"}[i%2], Limit: vector.MaxLimit, Filter: schemas.Where(c)}
		a, err := want.Search(t.Context(), s, q)
		must(t, err)
		b, err := got.Search(t.Context(), s, q)
		must(t, err)
		scores := map[string]float64{}
		for _, h := range a.Hits {
			scores[h.ID] = h.Score
		}
		if a.N != b.N || len(a.Hits) != len(b.Hits) || math.Abs(a.Mean-b.Mean) > .01 || math.Abs(a.SD-b.SD) > .01 {
			t.Errorf("%+v: %d hits of %d, mean %.3f sd %.3f, in memory %d of %d, %.3f, %.3f", c, len(b.Hits), b.N, b.Mean, b.SD, len(a.Hits), a.N, a.Mean, a.SD)
		}
		for _, h := range b.Hits {
			if score, ok := scores[h.ID]; !ok || math.Abs(score-h.Score) > .02 {
				t.Errorf("%+v: %s scores %.3f, in memory %.3f (%v)", c, h.ID, h.Score, score, ok)
			}
		}
	}
}

// TestMomentsOfASample: above the sample's size the moments are close, and the same again.
func TestMomentsOfASample(t *testing.T) {
	t.Parallel()
	c := config(qdranttest.Open(t))
	c.Sample = 400
	x, s, r := vector.New(open(t, c)), system(t), rand.New(rand.NewPCG(5, 5))
	var log []vector.Change
	for i := range 2000 {
		log = append(log, vector.Change{Position: int64(i + 1), Put: &vector.Doc{ID: fmt.Sprint("i", i), Position: int64(i + 1), Chunks: []vector.Chunk{{Vector: random(r)}}}})
	}
	must(t, x.Apply(t.Context(), s, log, 2000))
	q := vector.Query{Vector: random(r), Limit: 5, Filter: schemas.MatchAll()}
	first, err := x.Search(t.Context(), s, q)
	must(t, err)
	if first.N < 1600 || first.N > 2400 || math.Abs(first.Mean) > .05 || math.Abs(first.SD-.25) > .05 {
		t.Errorf("n %d mean %.3f sd %.3f, want about 2000, 0, 0.25", first.N, first.Mean, first.SD)
	}
	again, err := x.Search(t.Context(), s, q)
	if err != nil || again.N != first.N || again.Mean != first.Mean || again.SD != first.SD {
		t.Errorf("another sample the second time: %+v, %+v, %v", first, again, err)
	}
}

// TestTwoWriters: two processes apply one log at once. Each is told when it meets the
// other, reads the checkpoint and goes on; what comes of it is as if there was one.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	c, s, log := config(qdranttest.Open(t)), system(t), history(120)
	var both sync.WaitGroup
	var met atomic.Int32
	for range 2 {
		x := vector.New(open(t, c))
		both.Go(func() {
			for try := 0; try < 500; try++ {
				at, err := x.Checkpoint(t.Context(), s)
				for err == nil && at < 120 {
					to := min(at+7, 120)
					if err = x.Apply(t.Context(), s, log[at:to], to); err == nil {
						at = to
					}
				}
				if err == nil {
					return
				}
				if !errors.Is(err, qdrant.ErrMoved) {
					t.Error(err)
					return
				}
				met.Add(1)
			}
			t.Error("it never came to the end")
		})
	}
	both.Wait()
	t.Logf("they met %d times", met.Load())
	c.Model = "alone@1"
	alone, x := vector.New(open(t, c)), vector.New(open(t, config(qdranttest.Place{URL: c.URL, APIKey: c.APIKey, Collection: c.Collection})))
	must(t, alone.Apply(t.Context(), s, log, 120))
	want, err := alone.Digest(t.Context(), s)
	must(t, err)
	if got, err := x.Digest(t.Context(), s); err != nil || got != want {
		t.Errorf("two writers made another index than one; error %v", err)
	}
}

func TestErasureIsReadBack(t *testing.T) {
	t.Parallel()
	x, s := open(t, config(qdranttest.Open(t))), system(t)
	index, r := vector.New(x), rand.New(rand.NewPCG(6, 6))
	put := func(at int64, id string) vector.Change {
		return vector.Change{Position: at, Put: &vector.Doc{ID: id, Position: at, Chunks: []vector.Chunk{{Vector: random(r)}, {Axis: "strategy", Vector: random(r)}}}}
	}
	must(t, index.Apply(t.Context(), s, []vector.Change{put(1, "a"), put(2, "b")}, 2))
	if left, err := x.Remaining(t.Context(), s, []string{"a", "never"}); err != nil || left != 2 {
		t.Errorf("%d points of an item on two axes, error %v", left, err)
	}
	must(t, index.Apply(t.Context(), s, []vector.Change{{Position: 3, Remove: []string{"a"}}}, 3))
	if left, err := x.Remaining(t.Context(), s, []string{"a"}); err != nil || left != 0 {
		t.Errorf("%d points are left, error %v", left, err)
	}
	if left, err := x.Remaining(t.Context(), s, []string{"b"}); err != nil || left != 2 {
		t.Errorf("%d points of what was not erased, error %v", left, err)
	}
}

// wants lets in who has a key, and refuses writes of those who may only read.
func wants(key string, readOnly bool) func(method, key string) error {
	return func(method, given string) error {
		if given != key {
			return status.Error(codes.Unauthenticated, "Must provide an API key")
		}
		if readOnly && slices.Contains([]string{"Create", "Upsert", "Delete", "CreateFieldIndex"}, method) {
			return status.Error(codes.PermissionDenied, "Forbidden")
		}
		return nil
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	place := qdranttest.Place{StandIn: qdranttest.StartStandIn(t), Collection: "c"}
	place.URL = place.StandIn.URL
	open(t, config(place))
	nobody, err := testenv.FreePort()
	must(t, err)
	empty := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(empty, []byte("nothing"), 0o600))
	for says, c := range map[string]struct {
		faults qdranttest.Faults
		change func(*qdrant.Config)
	}{
		"refuses the API key":                           {faults: qdranttest.Faults{Before: wants("other", false)}, change: func(c *qdrant.Config) { c.APIKey = "secret" }},
		"has no right to create or write":               {faults: qdranttest.Faults{Before: wants("", true)}},
		"is Qdrant 1.15.5, at least 1.16 is needed":     {faults: qdranttest.Faults{Version: "1.15.5"}},
		"holds vectors of 16 numbers, the embedding":    {change: func(c *qdrant.Config) { c.Dimensions = 384 }},
		"must be like http://host:6334":                 {change: func(c *qdrant.Config) { c.URL = "qdrant:6334" }},
		"the URL holds a user":                          {change: func(c *qdrant.Config) { c.URL = "http://user:secret@127.0.0.1:6334" }},
		"holds no PEM certificate":                      {change: func(c *qdrant.Config) { c.CAFile = empty }},
		`quantisation "int4" is neither "int8"`:         {change: func(c *qdrant.Config) { c.Quantisation = "int4" }},
		"cannot be reached by gRPC":                     {change: func(c *qdrant.Config) { c.URL = fmt.Sprint("http://127.0.0.1:", nobody) }},
		"cannot be reached by gRPC (Unavailable); 6333": {change: func(c *qdrant.Config) { c.URL = "http://127.0.0.1:6333" }},
	} {
		place.StandIn.Set(c.faults)
		cfg := config(place)
		cfg.ConnectWait = time.Second
		if c.change != nil {
			c.change(&cfg)
		}
		x, err := qdrant.Open(t.Context(), cfg)
		if x != nil || !errors.Is(err, qdrant.ErrUnusable) || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a secret is in %q", err)
		}
	}
}

// A server that is set back while a batch is written does not have what the copy lacks: the
// batch fails, and its checkpoint is not there.
func TestSetBackDuringABatch(t *testing.T) {
	t.Parallel()
	for _, back := range []int64{0, 100} {
		server := qdranttest.StartStandIn(t)
		driver, s, log := open(t, config(qdranttest.Place{URL: server.URL, Collection: "c"})), system(t), history(200)
		x := vector.New(driver)
		must(t, x.Apply(t.Context(), s, log[:back], back))
		restore := server.Backup()
		must(t, x.Apply(t.Context(), s, log[back:150], 150))
		var once sync.Once
		server.Set(qdranttest.Faults{Before: func(method, _ string) error {
			if method == "SetPayload" { // the points are written, the checkpoint is not
				once.Do(restore)
			}
			return nil
		}})
		if err := x.Apply(t.Context(), s, log[150:], 200); !errors.Is(err, qdrant.ErrMoved) {
			t.Errorf("set back to %d: error %v", back, err)
		}
		if at, err := x.Checkpoint(t.Context(), s); err != nil || at != back {
			t.Errorf("checkpoint %d, %v, want %d", at, err, back)
		}
		if err := x.Apply(t.Context(), s, log[back:], 200); !errors.Is(err, qdrant.ErrMoved) { // it was seen at 150
			t.Errorf("before it is read anew: error %v", err)
		}
		must(t, x.Apply(t.Context(), s, log[back:], 200))
	}
}

// TestFaults: a server that is down, slow, refuses at random or was set back.
func TestFaults(t *testing.T) {
	t.Parallel()
	server := qdranttest.StartStandIn(t)
	c := config(qdranttest.Place{URL: server.URL, Collection: "c"})
	c.Timeout = 3 * time.Second
	driver, s, log := open(t, c), system(t), history(400)
	x := vector.New(driver)
	must(t, x.Apply(t.Context(), s, log[:50], 50))

	var calls atomic.Int32
	server.Set(qdranttest.Faults{Before: func(string, string) error {
		if n := uint32(calls.Add(1)) * 2654435761 >> 16; n%2 == 0 { // half of the calls, in no order
			return status.Error([]codes.Code{codes.Unavailable, codes.ResourceExhausted}[n/2%2], "a fault")
		}
		return nil
	}})
	retried := func(to int64) {
		t.Helper()
		var from int64
		var err error
		for range 50 {
			if from, err = x.Checkpoint(t.Context(), s); err == nil {
				if err = x.Apply(t.Context(), s, log[from:to], to); err == nil {
					return
				}
			}
		}
		t.Fatalf("after many tries: %v", err)
	}
	retried(120)

	block := make(chan struct{})
	server.Set(qdranttest.Faults{Before: func(string, string) error { <-block; return nil }})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := x.Search(ctx, s, vector.Query{Vector: log[firstPut(log)].Put.Chunks[0].Vector, Limit: 3, Filter: schemas.MatchAll()}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("search of a server that does not answer: error %v", err)
	}
	server.Set(qdranttest.Faults{})
	close(block)

	server.Stop()
	if err := x.Apply(t.Context(), s, log[120:150], 150); err == nil || strings.Contains(err.Error(), "item-") {
		t.Errorf("apply to a stopped server: error %v", err)
	}
	server.Start(t)
	retried(200)
	restore := server.Backup()
	retried(300)
	restore()
	if err := x.Apply(t.Context(), s, log[300:], 400); !errors.Is(err, qdrant.ErrMoved) {
		t.Errorf("a collection that was set back took a later batch: error %v", err)
	}
	retried(400)
	c.Model = "whole@1"
	whole := vector.New(open(t, c))
	must(t, whole.Apply(t.Context(), s, log, 400))
	want, err := whole.Digest(t.Context(), s)
	must(t, err)
	if got, err := x.Digest(t.Context(), s); err != nil || got != want {
		t.Errorf("after all that the index is another one; error %v", err)
	}
}

// TestErrorOfSeveralFilters: the error is the one that ended the others.
func TestErrorOfSeveralFilters(t *testing.T) {
	t.Parallel()
	server := qdranttest.StartStandIn(t)
	x, s := open(t, config(qdranttest.Place{URL: server.URL, Collection: "c"})), system(t)
	v := random(rand.New(rand.NewPCG(4, 4)))
	long := vector.Doc{ID: "long", Position: 1, Chunks: []vector.Chunk{{Vector: v, Span: schemas.Span{End: 9}}, {Vector: v, Span: schemas.Span{Start: 9, End: 18}}}}
	must(t, x.Apply(t.Context(), s, []vector.Change{{Position: 1, Put: &long}}, 1))
	const filters = 4
	var calls atomic.Int32
	end := make(chan struct{})
	defer close(end)
	server.Set(qdranttest.Faults{Before: func(method, _ string) error {
		if method != "Get" { // of a long item's spans, one call a filter
			return nil
		}
		if calls.Add(1) < filters {
			<-end
			return nil
		}
		return status.Error(codes.Internal, "a fault")
	}})
	results, err := x.SearchEach(t.Context(), s, vector.Query{Vector: v, Limit: 3}, slices.Repeat([]schemas.Filter{schemas.MatchAll()}, filters))
	var told interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &told) || told.GRPCStatus().Code() != codes.Internal || errors.Is(err, context.Canceled) || results != nil {
		t.Errorf("results %v, error %v", results, err)
	}
}

func firstPut(log []vector.Change) int {
	for i := range log {
		if log[i].Put != nil && len(log[i].Put.Chunks) > 0 {
			return i
		}
	}
	return -1
}
