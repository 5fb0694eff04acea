package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/postgres"
	"satchel/schemas"
	"satchel/test/conformance/itemstest"
	"satchel/test/testenv/postgrestest"
)

func TestItemsConformance(t *testing.T) {
	t.Parallel()
	url := postgrestest.Open(t)
	itemstest.Run(t, itemstest.Harness{
		Open: func(ctx context.Context, name string) (items.Driver, func() error, error) {
			db, err := postgres.OpenItems(ctx, postgres.ItemsConfig{URL: url, Schema: "items_" + strings.ToLower(name), MaxConns: 4})
			if err != nil {
				return nil, nil, err
			}
			return db, db.Close, nil
		},
	})
}

func openItems(t *testing.T, url string) *postgres.Items {
	t.Helper()
	db, err := postgres.OpenItems(t.Context(), postgres.ItemsConfig{URL: url, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// TestItemsManyWorkers has several processes apply the same log, in other batches: what is
// there is what one would have made of it, and each sees it.
func TestItemsManyWorkers(t *testing.T) {
	t.Parallel()
	url := postgrestest.Open(t)
	s, err := scope.System("t1")
	if err != nil {
		t.Fatal(err)
	}
	var log []items.Change
	for i := range 120 {
		r := itemstest.Record(fmt.Sprintf("i%d", i%50), "s", i)
		r.Position, r.Speaker = int64(i+1), fmt.Sprintf("speaker %d", i%7)
		log = append(log, items.Change{Position: r.Position, Put: r})
		if i%9 == 8 {
			log[i] = items.Change{Position: r.Position, Erased: []string{fmt.Sprintf("i%d", i%13)}}
		}
	}
	alone := items.New(openItems(t, postgrestest.Open(t)))
	if err := alone.Apply(t.Context(), s, log, 0); err != nil {
		t.Fatal(err)
	}
	want, err := alone.Digest(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	wantStats, err := alone.Stats(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	workers := make([]*items.Items, 3)
	for w := range workers {
		workers[w] = items.New(openItems(t, url))
		wait.Go(func() {
			for at, step := 0, 5+w; at < len(log); at += step {
				if err := workers[w].Apply(t.Context(), s, log[:min(at+step, len(log))], 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	for _, w := range workers {
		got, err := w.Digest(t.Context(), s)
		if err != nil || got != want {
			t.Errorf("digest %x, want %x (%v)", got[:4], want[:4], err)
		}
		stats, err := w.Stats(t.Context(), s)
		if err != nil || fmt.Sprint(stats) != fmt.Sprint(wantStats) {
			t.Errorf("stats %v, want %v (%v)", stats, wantStats, err)
		}
	}
}

// TestFilters holds filters in SQL to schemas.Filter.Match, also for values that try to
// be SQL.
func TestFilters(t *testing.T) {
	t.Parallel()
	db := openItems(t, postgrestest.Open(t))
	st := items.New(db)
	s, err := scope.System("t1")
	if err != nil {
		t.Fatal(err)
	}
	values := []string{"", "a", "b", "team:a", "x') OR true --", `"`, "é", "a\x1fb", "{a,b}", "null"}
	value := rapid.SampledFrom(values)
	rapid.Check(t, func(rt *rapid.T) {
		if err := st.Reset(t.Context(), s); err != nil {
			rt.Fatal(err)
		}
		var log []items.Change
		n := rapid.IntRange(1, 6).Draw(rt, "items")
		for i := range n {
			r := itemstest.Record(fmt.Sprintf("i%d", i), "", i)
			r.Position = int64(i + 1)
			session := value.Draw(rt, "session")
			r.Session, r.Scope.Session = session, session
			r.Facets = schemas.Facets{
				Kind: schemas.Kind(value.Draw(rt, "kind")), Category: value.Draw(rt, "category"), Session: session, Signer: value.Draw(rt, "signer"),
				Level: schemas.Level(rapid.IntRange(0, 3).Draw(rt, "level")), Labels: rapid.SliceOfN(value, 0, 3).Draw(rt, "labels"),
				Groups: rapid.SliceOfN(value, 0, 2).Draw(rt, "groups"), Trust: rapid.Float64Range(0, 1).Draw(rt, "trust"), PII: rapid.Bool().Draw(rt, "pii"),
			}
			log = append(log, items.Change{Position: r.Position, Put: r})
		}
		if err := st.Apply(t.Context(), s, log, 0); err != nil {
			rt.Fatal(err)
		}
		conds := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) schemas.Cond {
			return schemas.Cond{
				Field:  schemas.Field(rapid.SampledFrom([]string{"kind", "category", "session", "labels", "groups", "purposes", "signer", "level", "trust", "pii", "credentials", "nonsense", "id"}).Draw(rt, "field")),
				Op:     schemas.Op(rapid.SampledFrom([]string{"in", "not_in", "empty_or_in", "at_most", "at_least", "nonsense"}).Draw(rt, "op")),
				Values: rapid.SliceOfN(value, 0, 3).Draw(rt, "values"), Number: rapid.Float64Range(0, 3).Draw(rt, "number"),
			}
		}), 0, 3).Draw(rt, "conds")
		f := schemas.Where(conds...)
		want := map[string]bool{}
		for _, c := range log {
			if f.Match(&c.Put.Facets) {
				want[c.Put.ID] = true
			}
		}
		got, err := st.Recent(t.Context(), s, f, items.Place{}, 100)
		if err != nil {
			rt.Fatal(err)
		}
		for _, id := range got {
			if !want[id] {
				rt.Fatalf("%v lets %s through", conds, id)
			}
		}
		if len(got) != len(want) {
			rt.Fatalf("%v: %v, want %v", conds, got, want)
		}
	})
}
