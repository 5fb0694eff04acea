package memory_test

import (
	"math"
	"strings"
	"testing"

	"satchel/pipeline/store/keyword"
	"satchel/pipeline/store/memory"
	"satchel/schemas"
)

// Many ids at once score what search gives each, whatever lies between them: removed,
// hidden, unknown, asked for twice.
func TestScoreIsWhatSearchGives(t *testing.T) {
	t.Parallel()
	const n = 950
	x, s, c := openKeyword(t, memory.KeywordConfig{}), system(t, "acme"), newCorpus(5)
	changes := c.changes(1, n)
	changes[9].Put.Text = strings.Repeat("many ", 300) + changes[9].Put.Text
	removed, gone := changes[3].Put.ID, changes[700].Put.ID
	changes = append(changes, keyword.Change{Position: n + 1, Remove: []string{removed, gone}})
	applyKeyword(t, x, s, changes...)
	ids := []string{"absent", "", changes[5].Put.ID, changes[5].Put.ID}
	for i := range 900 {
		ids = append(ids, changes[(i*37)%n].Put.ID)
	}
	low := schemas.Where(schemas.Cond{Field: schemas.FieldLevel, Op: schemas.AtMost, Number: 1})
	for _, text := range []string{"", "unheardof", "many", c.terms(), c.text(40), "many " + c.text(12)} {
		q := keyword.Query{Population: schemas.MatchAll(), Text: text, Limit: n, Filter: low}
		found, err := x.Search(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{}
		for _, h := range found.Hits {
			want[h.ID] = h.Score
		}
		for _, some := range [][]string{nil, ids[:1], ids[:33], ids} {
			scores, err := x.Score(t.Context(), s, q, some)
			if err != nil || len(scores) != len(some) {
				t.Fatal(len(scores), err)
			}
			for i, id := range some {
				if math.Float64bits(scores[i]) != math.Float64bits(want[id]) {
					t.Errorf("%.20q: %s scores %v, want %v", text, id, scores[i], want[id])
				}
			}
		}
	}
}
