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

// TestANameAloneIsNoAnswer: a sentence whose only word of the question is a name says nothing about it, unless nothing else is asked;
// and the sentence of the item that stood first comes first, however its score compares with that of other requests.
func TestANameAloneIsNoAnswer(t *testing.T) {
	t.Parallel()
	counter, err := token.New("")
	if err != nil {
		t.Fatal(err)
	}
	builder, err := pack.New(pack.Config{})
	if err != nil {
		t.Fatal(err)
	}
	said := func(id, text string, standing, score float64) candidate.Candidate {
		return whole(candidate.Candidate{Standing: standing, Score: score, Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
			ID: id, Kind: schemas.KindMemory, CreatedAt: at, Content: schemas.TextContent(text)}}})
	}
	for question, want := range map[string]string{
		"What was the poetry reading that Caroline attended about?": "The poetry reading was about being seen.",
		"Who is Caroline?": "That's great, Caroline!",
	} {
		p := builder.Build(pack.Request{Query: question, Budget: 500, Counter: counter}, []candidate.Candidate{
			said("a", "That's great, Caroline!", .95, .4), said("b", "The poetry reading was about being seen.", .7, .3), said("c", "Poetry is about reading.", .2, .38)})
		if len(p.TLDR.Sentences) == 0 || p.TLDR.Sentences[0].Text != want {
			t.Errorf("%s %q", question, p.TLDR.Summary)
		}
	}
}
