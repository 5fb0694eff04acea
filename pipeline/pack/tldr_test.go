package pack_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// TestTLDRAnswersFirst holds the order and the number of the sentences to what they say about
// the question, wherever their items stand in the pack.
func TestTLDRAnswersFirst(t *testing.T) {
	t.Parallel()
	counter, err := token.New("")
	if err != nil {
		t.Fatal(err)
	}
	builder, err := pack.New(pack.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var cs []candidate.Candidate
	for i, x := range []struct {
		score float64
		text  string
	}{
		{.9, "It rained all day. Jonas renewed the certificate of the card gateway."},
		{.8, "The certificates of the gateway end in May."},
		{.3, "A certificate of attendance was sent."},
		{.3, "The portfolio has many images now."},
	} {
		cs = append(cs, whole(candidate.Candidate{Score: x.score, Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
			ID: string(rune('a' + i)), Kind: schemas.KindMemory, CreatedAt: at.AddDate(0, 0, -i), Content: schemas.TextContent(x.text)}}}))
	}
	p := builder.Build(pack.Request{Query: "Who renewed the certificate of the card gateway?", Budget: 500, Counter: counter}, cs)
	var got []string
	for _, s := range p.TLDR.Sentences {
		got = append(got, s.Text)
	}
	want := []string{"Jonas renewed the certificate of the card gateway.", "The certificates of the gateway end in May."}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
