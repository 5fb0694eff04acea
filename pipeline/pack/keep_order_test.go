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

// notes are 80 items of about the same size, of which the best is the one at first.
func notes(first int) []candidate.Candidate {
	out := make([]candidate.Candidate, 80)
	for n := range out {
		i := (first + n) % len(out)
		kind := []schemas.Kind{schemas.KindMemory, schemas.KindMemory, schemas.KindKnowledge}[i%3]
		out[n] = whole(candidate.Candidate{
			Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{ID: fmt.Sprintf("m%02d", i), Kind: kind, Speaker: "Ana", CreatedAt: at.AddDate(0, 0, -(i*7)%9),
				Content: schemas.TextContent(fmt.Sprintf("Kiln number %02d was fired on shelf %02d and cooled for two days.", i, 80-i))}},
			Standing: .9 - .01*float64(n), Score: .9 - .01*float64(n), Verdict: schemas.Verdict{ID: "v", Allow: true},
		})
	}
	return out
}

// TestStays holds what the text of a turn shares with that of the turn before.
func TestStays(t *testing.T) {
	t.Parallel()
	b, err := pack.New(pack.Config{})
	if err != nil {
		t.Fatal(err)
	}
	counter, err := token.New("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	build := func(cs []candidate.Candidate, before []int) pack.Pack {
		return b.Build(pack.Request{Task: "Plan the firing.", UserMessage: "What now?", Budget: 1000, Counter: counter, Before: before}, cs)
	}
	first := notes(0)
	p := build(first, nil)
	before := func(cs []candidate.Candidate) []int {
		out := make([]int, len(p.Shown))
		for n, i := range p.Shown {
			out[n] = slices.IndexFunc(cs, func(c candidate.Candidate) bool { return c.ID == first[i].ID })
		}
		return out
	}
	for _, c := range []struct {
		name        string
		first       int // the best item of this turn
		gone        int // place in the pack before of an item that is none any more, 0 for none
		least, most int // tokens in common
	}{
		{"the same question", 0, 0, 480, 1000},
		{"half of it still bears", 15, 0, 480, 600},
		{"nothing of it bears", 40, 0, 0, 40},
		{"the fourth item is gone", 0, 3, 80, 200},
	} {
		cs := notes(c.first)
		order := before(cs)
		if c.gone > 0 {
			cs[order[c.gone]].Drop = schemas.DropStale
		}
		q := build(cs, order)
		x, y := slices.Collect(strings.Lines(p.Text)), slices.Collect(strings.Lines(q.Text))
		n := 0
		for n < min(len(x), len(y)) && x[n] == y[n] {
			n++
		}
		if tokens := counter.Count(strings.Join(x[:n], "")); tokens < c.least || tokens > c.most {
			t.Errorf("%s: %d tokens in common, want %d to %d:\n%s\n%s", c.name, tokens, c.least, c.most, p.Text, q.Text)
		}
		if q.Tokens > 1000 || q.Tokens < 950 || q.Tokens != counter.Count(q.Text) {
			t.Errorf("%s: %d tokens, counted %d", c.name, q.Tokens, counter.Count(q.Text))
		}
		// The best of this turn is there whatever stays.
		for i := range cs[:10] {
			if cs[i].Drop == "" && !slices.Contains(q.Shown, i) {
				t.Errorf("%s: number %d of this turn is left out", c.name, i+1)
			}
		}
	}
}
