package op_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"satchel/schemas"
)

// ranking returns the ids of a result by score, best first.
func ranking(res *schemas.ContextResult) []string {
	list := slices.Clone(res.Payload.Results)
	slices.SortStableFunc(list, func(a, b schemas.ResultItem) int { return compareScores(*b.Score, *a.Score) })
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].ID
	}
	return out
}

func compareScores(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TestARecentProfileFindsTheNewest has many reports that are alike, one a day: a profile that weighs
// recency shows the newest, and what is hidden changes nothing of it.
func TestARecentProfileFindsTheNewest(t *testing.T) {
	t.Parallel()
	reports := func(n int, label string, from time.Time) (out []schemas.MemoryItem) {
		for i := range n {
			m := memory(fmt.Sprintf("%s%03d", label[6:9], n-1-i), label, "", fmt.Sprintf("The quarterly audit of the %s shed was filed by clerk %d.", [...]string{"copper", "timber", "barley", "kiln"}[i%4], i))
			m.Session, m.CreatedAt = "", from.AddDate(0, 0, -i)
			out = append(out, m)
		}
		return out
	}
	list := append(crowd(50), reports(400, "level:public", day.AddDate(0, 0, -2))...)
	plain, veiled := openWorld(t, nil), openWorld(t, nil)
	plain.put(t, "acme", list...)
	veiled.put(t, "acme", append(list, reports(80, "level:confidential", day)...)...)
	var shown [][]string
	for _, w := range []*world{plain, veiled} {
		req := ask("quarterly audit of the shed filed by clerk")
		req.Payload.Profile, req.Payload.Limit, req.Payload.IncludeScores = "recent", 10, true
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), req)
		must(t, err)
		shown = append(shown, ranking(&res))
		for _, id := range ids(&res) {
			if id < "pub370" {
				t.Errorf("%s is among the ten shown, there are 30 that are newer", id)
			}
		}
		if !slices.Contains(res.Payload.Sources, "recency") {
			t.Errorf("sources %v", res.Payload.Sources)
		}
	}
	if !slices.Equal(shown[0], shown[1]) {
		t.Errorf("beside hidden reports %v, without %v", shown[1], shown[0])
	}
}

// TestTheNewestStandBehindOtherNews has reports that are alike, all older than a thousand other items: the ranker
// recency takes the newest of them, whatever similarity says.
func TestTheNewestStandBehindOtherNews(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := crowd(1100)
	for i := range 300 {
		m := memory(fmt.Sprintf("r%03d", i), "level:internal", "", fmt.Sprintf("Inspection of the %s shed was filed by clerk %d.", [...]string{"copper", "timber", "barley", "kiln"}[i*7%4], i))
		m.Session, m.CreatedAt = "", day.AddDate(0, 0, i-500)
		list = append(list, m)
	}
	w.put(t, "acme", list...)
	built, err := w.engine.Build(t.Context(), as(t, "acme", schemas.Internal), schemas.BuildRequest{
		SearchRequest: schemas.SearchRequest{Query: "shed inspection filed by a clerk", Limit: 4}, Ranker: "recency"})
	must(t, err)
	var got []string
	for _, m := range built.Memories {
		got = append(got, m.Memory.ID)
	}
	if want := []string{"r299", "r298", "r297", "r296"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
