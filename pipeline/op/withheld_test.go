package op_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/op"
	"satchel/schemas"
)

// redacted is an item of which an asker sees its text, but not who said it.
func redacted(id, text string) schemas.MemoryItem {
	m := memory(id, "level:internal", "Rumpelstiltskin", text)
	m.PIIFlags = []string{"$.speaker"}
	m.Provenance.SourceURI = "file:people/rumpelstiltskin#" + id
	return m
}

// The address of a redacted item stands nowhere in a reply.
func TestARedactedItemHasNoAddress(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	novelty := .123
	m := redacted("m", "The umbrella stand is by the door.")
	m.Novelty = &novelty
	code := redacted("c", "func umbrella() {\n\treturn\n}")
	code.Kind = schemas.KindCode
	w.put(t, "acme", m, code, memory("plain", "level:internal", "Ben", "Nobody knows whose umbrella it is."))
	s := as(t, "acme", schemas.Internal)
	for _, budget := range []int{0, 60} {
		req := ask("umbrella")
		req.Payload.IncludeScores, req.Payload.IncludeGraph, req.Payload.TokenBudget = true, true, budget
		res, err := w.engine.Context(context.Background(), s, req)
		must(t, err)
		if budget == 0 && len(res.Payload.Results) != 3 {
			t.Fatalf("shown: %v, %+v", ids(&res), res.Payload.Drop)
		}
		raw, err := json.Marshal(res)
		must(t, err)
		if strings.Contains(string(raw), "people/") {
			t.Errorf("the address of a redacted item is in %s", raw)
		}
		for _, section := range res.Payload.Pack.Sections {
			for i := range section.Items {
				it := &section.Items[i]
				if e := &it.Evidence; e.Span != nil {
					t.Errorf("evidence of %s: %+v", it.ID, e)
				}
			}
		}
	}
}

// That two texts were the same before they were masked is not told.
func TestNoChecksumOfWhatIsMasked(t *testing.T) {
	t.Parallel()
	w := openWorld(t, func(c *op.Config) { c.PDP = obliges{c.PDP} })
	a := memory("a", "level:internal", "Ana", "The umbrella of bob@example.org is by the door.")
	b := memory("b", "level:internal", "Ana", "Nobody here has ever seen a red parasol, not on any day of the week, umbrella or none.")
	a.Provenance.Checksum = a.Content.Checksum()
	b.Provenance.Checksum = a.Provenance.Checksum
	b.CreatedAt = b.CreatedAt.Add(time.Hour)
	w.put(t, "acme", a, b)
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), ask("umbrella"))
	must(t, err)
	raw, err := json.Marshal(res)
	must(t, err)
	if len(res.Payload.Results) != 2 || strings.Contains(string(raw), "checksum") {
		t.Errorf("shown %v, %+v", ids(&res), res.Payload.Drop.Drops)
	}
}

// A premortem does not tell a redacted experience's attributes by where it stands.
func TestAPremortemDoesNotTellWhatIsRedacted(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	x := experience("e-9", "layoffs", "quiet", "falsified", "keep the list", "it leaked", "a shared folder")
	x.PIIFlags = []string{"$.speaker"}
	w.learn(t, "acme", x)
	out, err := w.engine.Premortem(context.Background(), as(t, "acme", schemas.Internal), schemas.PremortemRequest{Domain: "layoffs", Strategy: "quiet"})
	must(t, err)
	if strings.Contains(out.Markdown, "keep the list") || strings.Contains(out.Markdown, "xperience") && !strings.Contains(out.Markdown, "0 past") {
		t.Errorf("it tells that a redacted experience is of the domain:\n%s", out.Markdown)
	}
}
