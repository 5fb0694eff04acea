package pack_test

import (
	"fmt"
	"strings"
	"testing"

	"satchel/pipeline/candidate"
	"satchel/pipeline/pack"
	"satchel/pipeline/token"
	"satchel/schemas"
)

// TestToolsKeepToTheirShare has tools that fit the question best beside memories, those that it
// does not need, and tools alone.
func TestToolsKeepToTheirShare(t *testing.T) {
	t.Parallel()
	counter, builder := counterAndBuilder(t)
	build := func(tools, memories int, score float64) (p pack.Pack, cs []candidate.Candidate) {
		add := func(kind schemas.Kind, n int, score float64) {
			for i := range n {
				cs = append(cs, whole(candidate.Candidate{Score: score, Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
					ID: fmt.Sprintf("%s%03d", kind, i), Kind: kind, Content: schemas.TextContent(fmt.Sprintf("refund_%d(card, amount): gives the money back", i))}}}))
			}
		}
		add(schemas.KindTool, tools, score)
		add(schemas.KindMemory, memories, .6)
		return builder.Build(pack.Request{Query: "refund", Budget: 2000, Counter: counter}, cs), cs
	}
	of := func(p pack.Pack, cs []candidate.Candidate) (tokens int) {
		for _, i := range p.Shown {
			if cs[i].Kind == schemas.KindTool {
				tokens += cs[i].Tokens
			}
		}
		return tokens
	}
	p, cs := build(200, 200, .9)
	if n := of(p, cs); n == 0 || n > 150 || p.Tokens < 1900 {
		t.Errorf("tools beside memories take %d of %d tokens", n, p.Tokens)
	}
	p, cs = build(200, 5, .9)
	if n := of(p, cs); n == 0 || n > 150 {
		t.Errorf("tools beside a few memories take %d of %d tokens", n, p.Tokens)
	}
	p, cs = build(200, 5, .001)
	if n := of(p, cs); n > 0 {
		t.Errorf("tools that the question does not need take %d tokens", n)
	}
	p, cs = build(200, 5, .12)
	if n := of(p, cs); n > 0 {
		t.Errorf("tools of a fifth of the score of the memories take %d tokens", n)
	}
	p, cs = build(200, 5, .2)
	if n := of(p, cs); n == 0 || n > 150 {
		t.Errorf("tools of a third of the score of the memories take %d tokens", n)
	}
	p, cs = build(200, 5, .6)
	for i := range cs {
		if cs[i].Kind != schemas.KindTool {
			cs[i].Drop, cs[i].Score = schemas.DropOffTopic, .01
		}
		if cs[i].Kind == schemas.KindTool {
			cs[i].Drop = ""
		}
	}
	p = builder.Build(pack.Request{Query: "refund", Budget: 2000, Counter: counter}, cs)
	if n := of(p, cs); n == 0 || n > 150 {
		t.Errorf("tools beside memories that are off topic take %d tokens", n)
	}
	for i := range cs {
		if cs[i].Kind == schemas.KindTool {
			cs[i].Drop, cs[i].Score = "", .011
		}
	}
	p = builder.Build(pack.Request{Query: "refund", Budget: 2000, Counter: counter}, cs)
	if n := of(p, cs); n > 0 || !strings.Contains(p.Text, "Nothing here answers it.") {
		t.Errorf("tools that fit no better than off topic memories take %d tokens: %s", n, p.Text)
	}
	p, cs = build(200, 0, .001)
	if n := of(p, cs); n < 1500 {
		t.Errorf("tools alone take %d tokens", n)
	}
}

// TestQuestionAboutASpeakerNeedsFewerTools has tools that fit less than what is said.
func TestQuestionAboutASpeakerNeedsFewerTools(t *testing.T) {
	t.Parallel()
	counter, builder := counterAndBuilder(t)
	for query, want := range map[string]int{
		"how is money given back?": 2, "what did jo's brother say?": 1,
		"What did Jonas say of refunds?": 2, "does the user want a refund?": 2,
	} {
		cs := []candidate.Candidate{
			whole(candidate.Candidate{Score: .5, Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
				ID: "said", Kind: schemas.KindMemory, Speaker: "Jo Berg", Content: schemas.TextContent("The refund came on Monday.")}}}),
			whole(candidate.Candidate{Score: .2, Visible: &candidate.Visible{MemoryItem: schemas.MemoryItem{
				ID: "refund", Kind: schemas.KindTool, Content: schemas.TextContent("refund(card): gives money back")}}}),
		}
		if p := builder.Build(pack.Request{Query: query, Budget: 2000, Counter: counter}, cs); len(p.Shown) != want {
			t.Errorf("%q: %d items are shown, want %d", query, len(p.Shown), want)
		}
	}
}

func counterAndBuilder(t *testing.T) (token.Counter, *pack.Builder) {
	t.Helper()
	counter, err := token.New("")
	if err != nil {
		t.Fatal(err)
	}
	builder, err := pack.New(pack.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return counter, builder
}
