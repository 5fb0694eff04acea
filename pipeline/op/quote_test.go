package op_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"satchel/schemas"
)

// A tenant has the conversations of a team and its handbook. Neither keeps the other out of a
// pack, and what is shown of a section is accounted for span by span.
func TestDocumentsBesideConversations(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	for i := range 40 {
		w.learn(t, "acme", memory(fmt.Sprint("turn-", i), "level:public", "Ana", fmt.Sprintf("On day %d I glazed bowl %d and went home by the ferry.", i, i)))
	}
	w.learn(t, "acme", memory("turn-lamp", "level:public", "Ana", "The lamp of the kiln room broke, so I bought a new lamp at the harbour shop."))
	for i := range 12 {
		section := item(schemas.KindKnowledge, fmt.Sprint("doc-", i), "Handbook › Kiln "+fmt.Sprint(i)+"\n"+
			strings.Repeat("Shelves are washed before each run and pots stand two fingers apart.\n\n", 9)+
			fmt.Sprintf("Kiln %d bends cone six at %d degrees.\n\n", i, 1200+i)+
			strings.Repeat("Wet pots are never fired, for steam bursts them and soils the shelves.\n\n", 9), nil)
		section.Provenance.SourceURI = fmt.Sprintf("file:handbook/kilns.md#kiln-%d", i)
		w.learn(t, "acme", section)
	}
	s := as(t, "acme", schemas.Internal)
	for question, want := range map[string]string{
		"at how many degrees does kiln 7 bend cone six?":             "Kiln 7 bends cone six at 1207 degrees.",
		"where did Ana buy the new lamp of the kiln room?":           "new lamp at the harbour shop",
		"which bowl did Ana glaze on day 31, and how did she leave?": "glazed bowl 31",
	} {
		req := ask(question)
		req.Payload.TokenBudget = 500
		res, err := w.engine.Context(context.Background(), s, req)
		must(t, err)
		p := &res.Payload
		if !strings.Contains(p.Text, want) {
			t.Errorf("%s\n%s", question, p.Text)
		}
		if p.Pack.TokenActual > 500 {
			t.Errorf("%s: %d tokens", question, p.Pack.TokenActual)
		}
		for _, section := range p.Pack.Sections {
			for i := range section.Items {
				it := &section.Items[i]
				if !strings.HasPrefix(it.ID, "doc-") {
					continue
				}
				if section.Type != schemas.SectionKnowledge || it.Where != "handbook/kilns.md" {
					t.Errorf("%s stands in %s, at %q", it.ID, section.Type, it.Where)
				}
				for _, span := range it.Spans {
					if span.End <= span.Start {
						t.Errorf("%s shows %v", it.ID, span)
					}
				}
			}
		}
		entry, err := w.log.Entry(context.Background(), s, p.Positions.Pack)
		must(t, err)
		if strings.Contains(string(entry.Data), "handbook") {
			t.Error("the log says where an item stands")
		}
	}
	small := ask("Kiln 7 bends cone six")
	small.Payload.TokenBudget = 5
	res, err := w.engine.Context(context.Background(), s, small)
	must(t, err)
	if warned := res.Payload.Explainability.Warnings; len(warned) == 0 || !strings.HasPrefix(warned[len(warned)-1], "budget: 5 is too small for any ") {
		t.Errorf("%d shown, warned of %q", len(res.Payload.Results), warned)
	}
}
