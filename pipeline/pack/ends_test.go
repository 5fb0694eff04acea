package pack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// worth is a candidate of so many words.
func worth(id string, standing, chance float64, words int) candidate.Candidate {
	v := &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: id, Kind: schemas.KindMemory, Content: schemas.TextContent(strings.Repeat("word ", words))}}
	one := candidate.New(v, schemas.Verdict{Allow: true})
	one.Standing, one.Score = standing, chance
	return one
}

func opened(t *testing.T) (*pack.Builder, token.Counter) {
	t.Helper()
	counter, err := token.New(token.CL100K)
	if err != nil {
		t.Fatal(err)
	}
	builder, err := pack.New(pack.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return builder, counter
}

// A pack ends where the next item is worth too little for its tokens beside the best, says how much more there is, and shows
// it where it is to fill its budget. What is far less likely to answer than the best is not shown, however short it is.
func TestAPackEnds(t *testing.T) {
	t.Parallel()
	builder, counter := opened(t)
	list := func() (cs []candidate.Candidate) {
		for i, c := range []struct {
			standing, chance float64
			words            int
		}{{.999, .5, 250}, {.9, .5, 20}, {.8, .4, 20}, {.7, .001, 3}, {.6, .3, 60}, {.01, .1, 20}, {.005, .1, 20}} {
			cs = append(cs, worth(fmt.Sprint("i", i), c.standing, c.chance, c.words))
		}
		return cs
	}
	for farther, want := range map[float64]struct {
		shown []int
		more  string
	}{0: {[]int{0, 1, 2, 3, 4, 5, 6}, ""}, 7: {[]int{0, 1, 2, 4}, "(3 more bear on it less: fill shows them.)\n"}, 14: {[]int{0, 1, 2, 4, 5, 6}, "(1 more bear"}} {
		cs := list()
		p := builder.Build(pack.Request{Query: "word", Budget: 1000, Counter: counter, Farther: farther}, cs)
		if got := slices.Sorted(slices.Values(p.Shown)); !slices.Equal(got, want.shown) || !strings.Contains(p.Text, want.more) || (want.more == "") == strings.Contains(p.Text, " more bear ") {
			t.Errorf("%v deviations: shown %v, want %v:\n%s", farther, got, want.shown, p.Text)
		}
		if n := counter.Count(p.Text); n != p.Tokens {
			t.Errorf("%d tokens, it says %d", n, p.Tokens)
		}
		for i := range cs {
			if left := !slices.Contains(want.shown, i); left != (cs[i].Drop == schemas.DropRank && cs[i].Detail == candidate.WorthLess) {
				t.Errorf("%s: %q %q", cs[i].ID, cs[i].Drop, cs[i].Detail)
			}
		}
	}
}

// What a link reaches is shown with the item that it was reached from, and is past with it.
func TestALinkEndsWithItsItem(t *testing.T) {
	t.Parallel()
	builder, counter := opened(t)
	item := func(id string, standing, chance float64, linked string) candidate.Candidate {
		one := worth(id, standing, chance, 20)
		one.Linked = linked
		return one
	}
	for farther, want := range map[float64][]string{0: {"best", "cause", "far", "named", "deeper", "other", "lost", "long"}, 9: {"best", "cause", "deeper", "long", "named"}} {
		cs := []candidate.Candidate{
			item("best", .9, .5, ""), item("cause", .89, .01, "best"), item("deeper", .88, .001, "cause"), item("named", .88, .01, "named"),
			item("other", .87, .01, "far"), item("far", .86, .001, ""), item("gone", .5, .1, ""), item("lost", .87, .1, "gone"), worth("long", .9999, .5, 250),
		}
		cs[6].Drop = schemas.DropOffTopic
		p := builder.Build(pack.Request{Query: "word", Budget: 2000, Counter: counter, Farther: farther}, cs)
		var got []string
		for _, i := range p.Shown {
			got = append(got, cs[i].ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%v deviations: shown %v, want %v", farther, got, want)
		}
	}
}
