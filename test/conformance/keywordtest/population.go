package keywordtest

import (
	"math"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"satchel/pipeline/store/keyword"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

// open documents are what everybody may see.
func openDocs() []keyword.Doc {
	return []keyword.Doc{
		doc("a", "the copper kettle stands beside the stove"), doc("b", "copper wire and copper pipe"),
		doc("c", "a walnut table"), doc("d", "the kettle is made of iron and walnut wood, and it is heavy"),
	}
}

// population: what the principal may not see moves neither a score nor a moment.
func population(s *suite) {
	s.put(s.s, openDocs()...)
	q := keyword.Query{Text: "copper kettle walnut", Limit: 10, Filter: upTo(1), Population: upTo(1)}
	alone := s.search(s.s, q)
	s.put(s.s, secret("x", "copper copper kettle", 3), secret("y", "kettle", 3), secret("z", "a long hidden text about walnut trees and their many leaves", 3))
	if diff := cmp.Diff(alone, s.search(s.s, q)); diff != "" {
		s.Errorf("hidden documents change what is found (-without +with):\n%s", diff)
	}
	texts := []string{"copper kettle", "walnut", "nothing of it"}
	with := must.Get(s.x.ScoreTexts(s.Context(), s.s, q, texts))(s)
	s.remove(s.s, "x", "y", "z")
	without, err := s.x.ScoreTexts(s.Context(), s.s, q, texts)
	if diff := cmp.Diff(without, with); err != nil || diff != "" {
		s.Errorf("hidden documents change what a text scores (-without +with):\n%s", diff)
	}
}

// uncounted: what the filter lets through beyond the population is found, also by words that are
// its alone, and moves no other score and no moment.
func uncounted(s *suite) {
	s.put(s.s, openDocs()...)
	q := keyword.Query{Text: "copper kettle walnut zebra", Limit: 10, Filter: upTo(3), Population: upTo(1)}
	alone := s.search(s.s, q)
	s.put(s.s, secret("x", "copper copper kettle zebra", 3), secret("y", "a long text about walnut trees and their many leaves", 3), secret("z", "zebra", 3))
	with := s.search(s.s, q)
	own := map[string]bool{}
	with.Hits = slices.DeleteFunc(with.Hits, func(h keyword.Hit) bool {
		own[h.ID] = h.Score > 0
		return h.ID >= "x"
	})
	if !own["x"] || !own["y"] || !own["z"] {
		s.Errorf("what is not counted is not found: %v", own)
	}
	if diff := cmp.Diff(alone, with); diff != "" {
		s.Errorf("what is not counted changes the rest (-without +with):\n%s", diff)
	}
	q.Population = upTo(-1)
	if r := s.search(s.s, q); len(r.Hits) != 7 || r.N != 0 || r.Mean != 0 || r.SD != 0 {
		s.Errorf("where nothing counts: %+v", r)
	}
}

// excluded: a search passes over what it excludes as if it were not there.
func excluded(s *suite) {
	s.put(s.s, openDocs()...)
	alone := s.search(s.s, all("copper kettle walnut"))
	s.put(s.s, doc("x", "copper copper kettle"), doc("y", "kettle"), doc("z", "a long text about walnut trees and their many leaves"))
	q := all("copper kettle walnut")
	q.Exclude = []string{"x", "z", "y", "never there"}
	if diff := cmp.Diff(alone, s.search(s.s, q), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		s.Errorf("excluded documents change what is found (-without +with):\n%s", diff)
	}
	scores, err := s.x.Score(s.Context(), s.s, q, []string{"x", "a"})
	if err != nil || scores[0] != 0 || scores[1] <= 0 {
		s.Errorf("scores of an excluded and another document: %v, %v", scores, err)
	}
}

// texts: a text scores what a document of it does.
func texts(s *suite) {
	s.put(s.s, openDocs()...)
	q := all("copper kettle walnut")
	var want []float64
	var list []string
	for _, d := range openDocs() {
		scores := must.Get(s.x.Score(s.Context(), s.s, q, []string{d.ID}))(s)
		want, list = append(want, scores[0]), append(list, d.Text)
	}
	got, err := s.x.ScoreTexts(s.Context(), s.s, q, list)
	if err != nil || len(got) != len(want) {
		s.Fatalf("%v, %v", got, err)
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-6 {
			s.Errorf("the text of %q scores %v, the document %v", openDocs()[i].ID, got[i], want[i])
		}
	}
	q.Text = "zeppelin copper"
	score := func() float64 {
		new, err := s.x.ScoreTexts(s.Context(), s.s, q, []string{"a zeppelin"})
		if err != nil || new[0] <= 0 {
			s.Errorf("a text with a word that no document has: %v, %v", new, err)
		}
		return new[0]
	}
	alone := score()
	q.Population = upTo(1)
	s.put(s.s, secret("x", "a zeppelin", 3))
	if hidden := score(); hidden != alone {
		s.Errorf("a text with a word that only a hidden document has scores %v, without the document %v", hidden, alone)
	}
	if none, err := s.x.ScoreTexts(s.Context(), folded.Tenant(s.T, "empty"), q, list[:1]); err != nil || none[0] != 0 {
		s.Errorf("a tenant without documents: %v, %v", none, err)
	}
}
