package memory_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/memory"
	"satchel/schemas"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []memory.KeywordConfig{{MemoryBytes: -1}, {K1: -1}, {B: 1.5}, {CommonShare: 2}} {
		if _, err := memory.OpenKeyword(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	x, s := openKeyword(t, memory.KeywordConfig{}), system(t, "acme")
	for name, changes := range map[string][]keyword.Change{
		"falling":   {put(2, "a", "x"), put(1, "b", "x")},
		"past upTo": {put(9, "a", "x")},
	} {
		if err := x.Apply(t.Context(), s, changes, 5); !errors.Is(err, memory.ErrOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := x.Apply(t.Context(), s, []keyword.Change{put(1, "", "x")}, 1); err == nil {
		t.Error("an item without an id is taken")
	}
	if at := checkpoint(t, x, s); at != 0 {
		t.Errorf("checkpoint moved to %d", at)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	x, s := openKeyword(t, memory.KeywordConfig{}), system(t, "acme")
	closeIndex(t, x)
	closeIndex(t, x)
	if err := x.Apply(t.Context(), s, nil, 1); !errors.Is(err, memory.ErrKeywordClosed) {
		t.Errorf("apply: %v", err)
	}
	if _, err := x.Search(t.Context(), s, keyword.Query{}); !errors.Is(err, memory.ErrKeywordClosed) {
		t.Errorf("search: %v", err)
	}
}

// Common terms count only when a query has nothing else.
func TestCommonTerms(t *testing.T) {
	t.Parallel()
	x, s := openKeyword(t, memory.KeywordConfig{CommonFrom: 100}), system(t, "acme")
	for i := range int64(101) {
		text := "everywhere"
		if i%50 == 0 {
			text += " seldom"
		}
		applyKeyword(t, x, s, put(i+1, fmt.Sprint(i), text))
		if i == 98 {
			if res := search(t, x, s, "everywhere seldom"); len(res.Hits) != 10 {
				t.Errorf("a small tenant leaves a term out: %v", res.Hits)
			}
		}
	}
	if res := search(t, x, s, "everywhere seldom"); len(res.Hits) != 3 {
		t.Errorf("%d hits, want the 3 with the rare term", len(res.Hits))
	}
	if res := search(t, x, s, "everywhere"); len(res.Hits) != 10 {
		t.Errorf("%d hits, want 10", len(res.Hits))
	}
	q := keyword.Query{Population: schemas.MatchAll(), Text: "everywhere seldom", Limit: 3, Filter: schemas.MatchAll()}
	scores, err := x.Score(t.Context(), s, q, []string{"0", "1", "50"})
	if err != nil || scores[0] <= 0 || scores[1] != 0 || scores[0] != scores[2] {
		t.Errorf("scores %v, %v", scores, err)
	}
}

// Long queries, long documents and high frequencies leave the fast paths; scores stay equal.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	x, s, c := openKeyword(t, memory.KeywordConfig{}), system(t, "acme"), newCorpus(3)
	for i := range int64(30) {
		applyKeyword(t, x, s, put(i+1, fmt.Sprint(i), c.text(1500)))
	}
	q := keyword.Query{Population: schemas.MatchAll(), Text: c.text(4000), Limit: 30, Filter: schemas.MatchAll()}
	res, err := x.Search(t.Context(), s, q)
	if err != nil || len(res.Hits) != 30 {
		t.Fatal(len(res.Hits), err)
	}
	for _, h := range res.Hits {
		got, err := x.Score(t.Context(), s, q, []string{h.ID})
		if err != nil || got[0] != h.Score {
			t.Errorf("%s: Search says %v, Score %v, %v", h.ID, h.Score, got, err)
		}
	}
}

// Documents are scored in blocks; nothing may happen at their borders.
func TestManyBlocks(t *testing.T) {
	t.Parallel()
	const n = 40_000
	x, s := openKeyword(t, memory.KeywordConfig{CommonFrom: n + 1}), system(t, "acme")
	changes, ids := make([]keyword.Change, n), make([]string, n)
	for i := range changes {
		ids[i] = fmt.Sprint(i)
		text := []string{"shared", "shared tenth", "other"}[min(2, i%3)]
		if i%(n/7) == 0 {
			text += " tenth rare rare rare rare"
		}
		changes[i] = put(int64(i+1), ids[i], text)
	}
	applyKeyword(t, x, s, changes...)
	applyKeyword(t, x, s, keyword.Change{Position: n + 1, Remove: []string{"32767", "32768", "39999"}})
	q := keyword.Query{Population: schemas.MatchAll(), Text: "shared rare tenth", Limit: 1000, Filter: schemas.MatchAll()}
	res, err := x.Search(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := x.Score(t.Context(), s, q, ids)
	if err != nil {
		t.Fatal(err)
	}
	sum, squares, last := 0.0, 0.0, res.Hits[999].Score
	byID, better := map[string]float64{}, 0
	for i, v := range scores {
		byID[ids[i]] = v
		sum += v
		squares += v * v
		if v > last {
			better++
		}
	}
	for _, h := range res.Hits {
		if byID[h.ID] != h.Score {
			t.Fatalf("%s: Search says %v, Score %v", h.ID, h.Score, byID[h.ID])
		}
	}
	mean := sum / (n - 3)
	sd := math.Sqrt(squares/(n-3) - mean*mean)
	if better >= 1000 || res.N != n-3 || math.Abs(res.Mean-mean) > 1e-9 || math.Abs(res.SD-sd) > 1e-6 {
		t.Errorf("%d better than the last hit; moments %v %v %d, want %v %v", better, res.Mean, res.SD, res.N, mean, sd)
	}
}
