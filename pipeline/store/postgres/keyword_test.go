package postgres_test

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/postgres"
	"satchel/schemas"
	"satchel/test/conformance/keywordtest"
	"satchel/test/testenv/postgrestest"
)

func TestKeywordConformance(t *testing.T) {
	t.Parallel()
	for language, features := range map[string]keywordtest.Features{
		"":        {ExactMoments: true, OwnAnalysis: true},
		"english": {ExactMoments: true},
	} {
		t.Run(cmp.Or(language, "own"), func(t *testing.T) {
			t.Parallel()
			url := postgrestest.Open(t)
			keywordtest.Run(t, features, func(t *testing.T) keyword.Index {
				return openKeyword(t, postgres.KeywordConfig{URL: url, Schema: "keyword_" + strings.ToLower(rand.Text()), Language: language})
			})
		})
	}
}

func openKeyword(t *testing.T, cfg postgres.KeywordConfig) *postgres.Keyword {
	t.Helper()
	cfg.MaxConns = 4
	x, err := postgres.OpenKeyword(t.Context(), cfg)
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

func put(t *testing.T, x *postgres.Keyword, s scope.Scope, texts ...string) {
	t.Helper()
	at, err := x.Checkpoint(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var changes []keyword.Change
	for i, text := range texts {
		at++
		changes = append(changes, keyword.Change{Position: at, Put: &keyword.Doc{ID: fmt.Sprint("d", i), Position: at, Text: text}})
	}
	if err := x.Apply(t.Context(), s, changes, at); err != nil {
		t.Fatal(err)
	}
}

func found(t *testing.T, x *postgres.Keyword, s scope.Scope, text string) string {
	t.Helper()
	res, err := x.Search(t.Context(), s, keyword.Query{Population: schemas.MatchAll(), Text: text, Limit: 10, Filter: schemas.MatchAll()})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, h := range res.Hits {
		ids = append(ids, h.ID)
	}
	return strings.Join(ids, " ")
}

// TestLanguage finds German by its stems, which the own analysis does not, and empties an
// index that was made for another language.
func TestLanguage(t *testing.T) {
	t.Parallel()
	url, s := postgrestest.Open(t), system(t, "acme")
	german := openKeyword(t, postgres.KeywordConfig{URL: url, Language: "german"})
	put(t, german, s, "Die Häuser am See gehören der Gemeinde", `it's \ a 'quoted' word: o'brien`)
	if got := found(t, german, s, "Haus"); got != "d0" {
		t.Errorf("Haus finds %q", got)
	}
	if got := found(t, german, s, `quoted`); got != "d1" {
		t.Errorf("quoted finds %q", got)
	}
	own := openKeyword(t, postgres.KeywordConfig{URL: url})
	if at, err := own.Checkpoint(t.Context(), s); err != nil || at != 0 {
		t.Errorf("an index of another language is kept: checkpoint %d, %v", at, err)
	}
	if _, err := postgres.OpenKeyword(t.Context(), postgres.KeywordConfig{URL: url, Language: "klingon"}); err == nil || !strings.Contains(err.Error(), "klingon") {
		t.Errorf("an unknown language: %v", err)
	}
	if _, err := postgres.OpenKeyword(t.Context(), postgres.KeywordConfig{URL: url, Language: "german'; DROP TABLE docs; --"}); err == nil {
		t.Error("a language that is SQL was taken")
	}
}

// TestHugeText: what a tsvector cannot hold is indexed by its beginning.
func TestHugeText(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&b, "word%d ", i)
	}
	for _, language := range []string{"", "english"} {
		x, s := openKeyword(t, postgres.KeywordConfig{URL: postgrestest.Open(t), Language: language}), system(t, "acme")
		put(t, x, s, b.String())
		if got := found(t, x, s, "word7"); got != "d0" {
			t.Errorf("language %q: the beginning of a huge text is not found: %q", language, got)
		}
	}
}
