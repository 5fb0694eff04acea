package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/schemas"
	"satchel/test/conformance/itemstest"
)

func fill(b *testing.B, n int) (*Items, *items.Items, scope.Scope, []string) {
	b.Helper()
	db, err := OpenItems(b.Context(), IndexConfig{Path: filepath.Join(b.TempDir(), "items.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	st := items.New(db)
	s, err := scope.System("bench")
	if err != nil {
		b.Fatal(err)
	}
	ids := make([]string, n)
	batch := make([]items.Change, 0, 500)
	var raw [16]byte
	var spent time.Duration
	for i := range n {
		v := uint64(i) * 0x9e3779b97f4a7c15
		for j := range raw {
			raw[j] = byte(v>>(j%8*8)) ^ byte(i>>(j%4*8))
		}
		raw[0], raw[1], raw[2] = byte(i>>16), byte(i>>8), byte(i)
		ids[i] = uuid.UUID(raw).String()
		r := itemstest.Record(ids[i], fmt.Sprintf("session-%d", i/20), i)
		r.Seq = int64(i % 20)
		batch = append(batch, items.Change{Position: int64(i + 1), Put: r})
		if len(batch) == cap(batch) || i == n-1 {
			start := time.Now()
			if err := st.Apply(b.Context(), s, batch, 0); err != nil {
				b.Fatal(err)
			}
			spent += time.Since(start)
			batch = batch[:0]
		}
	}
	b.Logf("%d items: %.0f items/s", n, float64(n)/spent.Seconds())
	return db, st, s, ids
}

func benchmark(b *testing.B, n int) {
	db, st, s, ids := fill(b, n)
	start := time.Now()
	if _, err := st.Stats(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	b.Logf("loaded in %v, %d bytes an item", time.Since(start), db.tenants.Bytes()/int64(n))
	pick := func(k, i int) []string {
		out := make([]string, k)
		for j := range out {
			out[j] = ids[(i*7919+j*104729)%n]
		}
		return out
	}
	b.Run("get100", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			if got, err := st.Get(b.Context(), s, pick(100, i)); err != nil || len(got) != 100 {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("neighbours400", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			if got, err := st.Neighbours(b.Context(), s, pick(400, i), 2); err != nil || len(got) == 0 {
				b.Fatal(len(got), err)
			}
		}
	})
	for name, f := range map[string]schemas.Filter{"all": schemas.MatchAll(),
		"none": schemas.Where(schemas.Cond{Field: schemas.FieldKind, Op: schemas.In, Values: []string{"no"}})} {
		b.Run("recent100/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := st.Recent(b.Context(), s, f, items.Place{}, 100); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("stats", func(b *testing.B) {
		for b.Loop() {
			if _, err := st.Stats(b.Context(), s); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func Benchmark100k(b *testing.B) { benchmark(b, 100_000) }

func Benchmark1M(b *testing.B) { benchmark(b, 1_000_000) }

func BenchmarkDecode(b *testing.B) {
	r := itemstest.Record("x", "s", 1)
	h := items.NewMetadata(r)
	head, body := h.Append(nil), items.AppendPayload(nil, r)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := items.DecodeRecord("x", 1, head, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSetTokens500of100k(b *testing.B) {
	db, _, s, ids := fill(b, 100_000)
	i := 0
	for b.Loop() {
		counts := map[string]int{}
		for range 500 {
			i++
			counts[ids[i*7919%len(ids)]] = 5 + i%7
		}
		if err := db.SetTokens(b.Context(), s.Tenant(), counts); err != nil {
			b.Fatal(err)
		}
	}
}
