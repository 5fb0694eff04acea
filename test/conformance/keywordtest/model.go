package keywordtest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"satchel/pipeline/language"
	"satchel/pipeline/store/keyword"
	"satchel/schemas"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// model is the index as plainly as it can be written.
type model map[string]keyword.Doc

// search scores every document by the formula of package keyword.
func (m model) search(q keyword.Query) keyword.Result {
	query := language.Analyze(q.Text)
	df, total := map[string]float64{}, 0.0
	for _, d := range m {
		terms := language.Analyze(d.Text)
		total += float64(len(terms))
		slices.Sort(terms)
		for _, t := range slices.Compact(terms) {
			df[t]++
		}
	}
	n := float64(len(m))
	avg := max(total/n, 1)
	var res keyword.Result
	var sum, squares float64
	for _, d := range m {
		if !q.Filter.Match(&d.Facets) {
			continue
		}
		terms, score := language.Analyze(d.Text), 0.0
		for _, t := range query {
			tf := 0.0
			for _, u := range terms {
				if t == u {
					tf++
				}
			}
			idf := math.Log(1 + (n-df[t]+.5)/(df[t]+.5))
			score += idf * tf * 2.2 / (tf + 1.2*(.25+.75*float64(len(terms))/avg))
		}
		res.N++
		sum += score
		squares += score * score
		if score > 0 {
			res.Hits = append(res.Hits, keyword.Hit{ID: d.ID, Score: score})
		}
	}
	if res.N > 0 {
		res.Mean = sum / float64(res.N)
		res.SD = math.Sqrt(max(0, squares/float64(res.N)-res.Mean*res.Mean))
	}
	slices.SortFunc(res.Hits, func(a, b keyword.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return res
}

// modelled compares the index with the model over random histories.
func modelled(s *suite) {
	run := 0
	rapid.Check(s.T, func(t *rapid.T) {
		run++
		sc := folded.Tenant(s.T, fmt.Sprintf("model-%d", run))
		m, at := model{}, int64(0)
		words := rapid.SampledFrom([]string{"boat", "boats", "river", "the", "getName", "猫猫", "storm", "calm", "sail's", "x_y"})
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(words, 0, 8).Draw(t, "words"), " ")
		})
		id := rapid.StringMatching(`[a-f]`)
		change := func(t *rapid.T) keyword.Change {
			at += rapid.Int64Range(1, 3).Draw(t, "step")
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				gone := rapid.SliceOfN(id, 1, 3).Draw(t, "gone")
				for _, g := range gone {
					delete(m, g)
				}
				return keyword.Change{Position: at, Remove: gone}
			}
			d := doc(id.Draw(t, "id"), text.Draw(t, "text"))
			d.Position, d.Facets.Level = at, schemas.Level(rapid.IntRange(0, 2).Draw(t, "level"))
			m[d.ID] = d
			return keyword.Change{Position: at, Put: &d}
		}
		t.Repeat(map[string]func(*rapid.T){
			"apply": func(t *rapid.T) {
				var changes []keyword.Change
				for range rapid.IntRange(1, 5).Draw(t, "n") {
					changes = append(changes, change(t))
				}
				must.Do(t, s.x.Apply(s.Context(), sc, changes, at))
			},
			"search": func(t *rapid.T) {
				q := keyword.Query{Population: schemas.MatchAll(), Text: text.Draw(t, "query"), Limit: rapid.IntRange(0, 7).Draw(t, "limit"),
					Filter: upTo(schemas.Level(rapid.IntRange(0, 2).Draw(t, "upTo")))}
				res, err := s.x.Search(s.Context(), sc, q)
				if err == nil {
					err = agrees(s, sc, q, res)
				}
				if err == nil {
					err = s.compare(m.search(q), res, q.Limit)
				}
				if err != nil {
					t.Fatalf("search: %v", err)
				}
			},
		})
	})
}

// compare holds got to want as far as the driver's features go.
func (s *suite) compare(want, got keyword.Result, limit int) error {
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if n := min(limit, len(want.Hits)); len(got.Hits) != n {
		return fmt.Errorf("%d hits, want %d", len(got.Hits), n)
	}
	if s.features.ExactMoments && got.N != want.N {
		return fmt.Errorf("moments over %d documents, want %d", got.N, want.N)
	}
	if !s.features.ExactBM25 {
		return nil
	}
	score := map[string]float64{}
	for _, h := range want.Hits {
		score[h.ID] = h.Score
	}
	for i, h := range got.Hits { // ids may differ only where scores are as good as equal
		if !near(h.Score, score[h.ID]) || !near(h.Score, want.Hits[i].Score) {
			return fmt.Errorf("hit %d is %v, want %v", i, h, want.Hits[i])
		}
	}
	if s.features.ExactMoments && (!near(got.Mean, want.Mean) || math.Abs(got.SD-want.SD) > 1e-6) {
		return fmt.Errorf("moments %v %v, want %v %v", got.Mean, got.SD, want.Mean, want.SD)
	}
	return nil
}
