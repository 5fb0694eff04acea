package eval

import (
	"testing"

	"satchel/schemas"
)

func TestMarked(t *testing.T) {
	t.Parallel()
	whole := "Write to ana@example.com or bob@example.com. Bye."
	for text, want := range map[string]bool{
		whole:                               true,
		"Write to [email] or [email]. Bye.": true,
		"Write to [email] or bob@example.com. Bye.":                true,
		"Write to [email]. Bye.":                                   true,
		"Write to [email] or [email]. Bye":                         false,
		"rite to [email] or [email]. Bye.":                         false,
		"Write to [email] and [email]. Bye.":                       false,
		"Write to [email] or [email] or [email]. Bye.":             false,
		"Write to [email][email]":                                  true,
		"Write to ana@example.com":                                 false,
		"Write to ana@example.com or bob@example.com. Bye.[email]": false,
	} {
		if got := marked(whole, text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// A citation or a drop that is off by a byte counts as unresolved, or as not named.
func TestAccountFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"a": "The kiln is hot. Nothing else. The glaze is blue."}
	reply := func(change func(*schemas.ResultPayload)) *schemas.ResultPayload {
		p := &schemas.ResultPayload{Text: "[1] The kiln is hot. … The glaze is blue.\n",
			Results: []schemas.ResultItem{{ID: "a", Content: schemas.TextContent("The kiln is hot. … The glaze is blue.")}}}
		p.Pack.Sections = []schemas.ContextSection{{Items: []schemas.ContextItem{{ID: "a", Spans: []schemas.Span{{Start: 0, End: 16}, {Start: 31, End: 49}}}}}}
		p.Drop.Drops = []schemas.Drop{{ItemID: "a", Span: &schemas.Span{Start: 16, End: 31}}}
		p.Explainability.TLDR.Sentences = []schemas.TLDRSentence{{Text: "The glaze is blue.", Citations: []string{"a"}}}
		if change != nil {
			change(p)
		}
		return p
	}
	if a := account(reply(nil), texts); a.Cited != 4 || a.Resolved != 4 || a.Removed != 15 || a.Named != 15 {
		t.Errorf("what is right counts as %+v", a)
	}
	for name, change := range map[string]func(*schemas.ResultPayload){
		"shifted":  func(p *schemas.ResultPayload) { p.Pack.Sections[0].Items[0].Spans[1].Start -= 5 },
		"too long": func(p *schemas.ResultPayload) { p.Pack.Sections[0].Items[0].Spans[1].End++ },
		"invented": func(p *schemas.ResultPayload) { p.Explainability.TLDR.Sentences[0].Text = "The glaze is red." },
		"no item":  func(p *schemas.ResultPayload) { p.Explainability.TLDR.Sentences[0].Citations[0] = "b" },
		"no mark":  func(p *schemas.ResultPayload) { p.Text = "The kiln is hot." },
	} {
		if a := account(reply(change), texts); a.Resolved != 3 {
			t.Errorf("%s: %d of %d citations resolve", name, a.Resolved, a.Cited)
		}
	}
	for name, change := range map[string]func(*schemas.ResultPayload){
		"short":   func(p *schemas.ResultPayload) { p.Drop.Drops[0].Span.End-- },
		"twice":   func(p *schemas.ResultPayload) { p.Drop.Drops = append(p.Drop.Drops, p.Drop.Drops[0]) },
		"missing": func(p *schemas.ResultPayload) { p.Drop.Drops = nil },
	} {
		if a := account(reply(change), texts); a.Named >= a.Removed {
			t.Errorf("%s: %d of %d characters are named", name, a.Named, a.Removed)
		}
	}
}
