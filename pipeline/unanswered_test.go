package pipeline_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"satchel/schemas"
)

// crowd is items that say nothing of the questions below.
func crowd(n int) []schemas.MemoryItem {
	list := make([]schemas.MemoryItem, n)
	for i := range list {
		list[i] = memory(fmt.Sprintf("c%04d", i), "level:internal", "", fmt.Sprintf("Barley field %d was ploughed and the kiln by the meadow fired.", i))
		list[i].Session = ""
	}
	return list
}

// A score is the same in a store of one item and of thousands, and whoever asks.
func TestScoresAreAbsolute(t *testing.T) {
	t.Parallel()
	exact := memory("exact", "level:public", "", "Jonas renewed the TLS certificate of the card gateway.")
	exact.Session = ""
	scores := map[string]float64{}
	for n, extra := range map[string]int{"1": 0, "20": 19, "3000": 2999} {
		w := openWorld(t, nil)
		w.put(t, "acme", append(crowd(extra), exact)...)
		for _, level := range []schemas.Level{schemas.Public, schemas.Internal} {
			for _, kind := range []string{schemas.QueryHybrid, schemas.QueryGraph, schemas.QuerySemantic} {
				req := ask("Who renewed the certificate of the card gateway?")
				req.Payload.MinScore, req.Payload.IncludeScores, req.Payload.Query.Type = .5, true, kind
				res, err := w.engine.Context(context.Background(), as(t, "acme", level), req)
				must(t, err)
				if got := ids(&res); len(got) != 1 || got[0] != "exact" {
					t.Fatalf("%s items: shown %v", n, got)
				}
				scores[fmt.Sprint(n, level, kind)] = *res.Payload.Results[0].Score
			}
		}
	}
	for name, score := range scores {
		if math.Abs(score-scores[fmt.Sprint("1", schemas.Public, schemas.QueryHybrid)]) > 1e-3 {
			t.Errorf("%s: %v of %v", name, score, scores)
		}
	}
}

// What nothing answers is said, and not padded; a name that only others may see is not here.
func TestNotKnownIsAnAnswer(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	hidden := memory("hidden", "level:confidential", "", "The capital of Peru is Lima.")
	w.put(t, "acme", append(crowd(300), hidden, memory("ana", "level:internal", "Ana", "The capital of the region is by the sea, said Bo."))...)
	for _, c := range []struct {
		question, says string
		level          schemas.Level
		most           int // items
	}{
		{"Do you sell aspirin or bandages?", "Nothing here answers it.", schemas.Internal, 0},
		{"What is the capital of Peru?", "Nothing here mentions: Peru\n", schemas.Internal, 40},
		{"Has anybody climbed Mount Fuji?", "Nothing here mentions: Mount Fuji\n", schemas.Internal, 40},
		{"What is the capital of Peru?", "", schemas.Confidential, 40},
		{"Did Ana talk of the capital?", "", schemas.Internal, 40},
	} {
		res, err := w.engine.Context(context.Background(), as(t, "acme", c.level), ask(c.question))
		must(t, err)
		if says := strings.Contains(res.Payload.Text, "Nothing here"); says != (c.says != "") || !strings.Contains(res.Payload.Text, c.says) {
			t.Errorf("%q of %v: %s", c.question, c.level, res.Payload.Text)
		}
		if n := len(res.Payload.Results); n > c.most || c.says != "" && res.Payload.Pack.TokenActual > 510 {
			t.Errorf("%q: %d items, %d tokens", c.question, n, res.Payload.Pack.TokenActual)
		}
	}
}

// TestSummariesThatAreAskedFor: whoever filters by the kind summary gets summaries, however little the
// question says; any other kind holds most of a store and must bear on the question.
func TestSummariesThatAreAskedFor(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	sum := memory("sum", "level:internal", "", "Ada looked at the crane and a second look is due.")
	sum.Kind, sum.Type = schemas.KindSummary, schemas.Semantic
	w.put(t, "acme", append(crowd(50), sum)...)
	for name, c := range map[string]struct {
		filter any
		shown  bool
	}{
		"summaries": {"summary", true}, "a list": {[]any{"summary"}, true}, "an operator": {map[string]any{"in": []any{"summary"}}, true},
		"among others": {[]any{"summary", "memory"}, false}, "memories": {"memory", false},
	} {
		req := ask("what happened")
		req.Payload.Query.Filters = map[string]any{"kind": c.filter}
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), req)
		must(t, err)
		if got := len(res.Payload.Results) > 0; got != c.shown {
			t.Errorf("%s: %d shown", name, len(res.Payload.Results))
		}
	}
}
