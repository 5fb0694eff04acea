package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/sqlite"
	"satchel/schemas"
	"satchel/test/conformance/itemstest"
)

func TestItemsConformance(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]int64{"roomy": 0, "evicting": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			itemstest.Run(t, itemstest.Harness{
				Open: func(ctx context.Context, name string) (items.Driver, func() error, error) {
					db, err := sqlite.OpenItems(ctx, sqlite.IndexConfig{Path: filepath.Join(dir, name+" %41?.db"), MemoryBytes: memory})
					if err != nil {
						return nil, nil, err
					}
					return db, db.Close, nil
				},
			})
		})
	}
}

func TestErasedContentIsInNoFile(t *testing.T) {
	t.Parallel()
	dir, canary := t.TempDir(), "zq-canary-7713"
	db, err := sqlite.OpenItems(t.Context(), sqlite.IndexConfig{Path: filepath.Join(dir, "items.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	st := items.New(db)
	s, err := scope.System("t1")
	if err != nil {
		t.Fatal(err)
	}
	apply := func(changes ...items.Change) {
		t.Helper()
		if err := st.Apply(t.Context(), s, changes, 0); err != nil {
			t.Fatal(err)
		}
	}
	var log []items.Change
	for i := range 200 {
		log = append(log, items.Change{Position: int64(i + 1), Put: itemstest.Record(fmt.Sprintf("i%d", i), "s", i)})
	}
	for _, i := range []int{5, 50, 150} {
		log[i].Put.ID = fmt.Sprintf("%s-%d", canary, i)
		log[i].Put.Content = schemas.TextContent(canary + " " + string(bytes.Repeat([]byte("long "), i*100)) + canary)
		log[i].Put.SecurityLabel = append(log[i].Put.SecurityLabel, canary)
	}
	apply(log...)
	replaced := itemstest.Record(log[50].Put.ID, "s", 3)
	apply(items.Change{Position: 201, Put: replaced})
	if _, err := st.Stats(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if found(t, dir, canary) == 0 {
		t.Fatal("the canary was never there: the test shows nothing")
	}
	apply(items.Change{Position: 202, Erased: []string{log[5].Put.ID, log[50].Put.ID, log[150].Put.ID}})
	if err := db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := found(t, dir, canary); n != 0 {
		t.Errorf("%d files still hold erased content", n)
	}
}

func TestItemsReadersAndWritersTogether(t *testing.T) {
	t.Parallel()
	db, err := sqlite.OpenItems(t.Context(), sqlite.IndexConfig{Path: filepath.Join(t.TempDir(), "items.db"), MemoryBytes: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	st := items.New(db)
	var wg sync.WaitGroup
	for w := range 4 {
		s, err := scope.System(fmt.Sprintf("t%d", w%2))
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for i := range 40 {
				id := fmt.Sprintf("i%d", i)
				if w < 2 {
					if err := st.Apply(t.Context(), s, []items.Change{{Position: int64(i + 1), Put: itemstest.Record(id, "s", i)}}, 0); err != nil {
						t.Error(err)
					}
					continue
				}
				if _, err := st.Neighbours(t.Context(), s, []string{id}, 2); err != nil {
					t.Error(err)
				}
				if _, err := st.Recent(t.Context(), s, schemas.MatchAll(), items.Place{}, 5); err != nil {
					t.Error(err)
				}
				if _, err := st.Stats(t.Context(), s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, name := range []string{"t0", "t1"} {
		s, err := scope.System(name)
		if err != nil {
			t.Fatal(err)
		}
		if stats, err := st.Stats(t.Context(), s); err != nil || stats.Items != 40 {
			t.Errorf("tenant %q: %+v, %v", name, stats, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestADamagedFileIsANamedError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "items.db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("not a database. "), 512), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.OpenItems(t.Context(), sqlite.IndexConfig{Path: path}); !errors.Is(err, items.ErrCorrupt) {
		t.Errorf("a damaged file is %v", err)
	}
}
