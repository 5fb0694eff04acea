package op_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"satchel/schemas"
)

// A summary is shown to nobody who may not see, as it stands now, what it was made of.
func TestASummaryIsAsClosedAsItsSources(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	summary := func(id, text string, of ...string) schemas.MemoryItem {
		m := memory(id, "level:public", "", text)
		m.Kind = schemas.KindSummary
		for _, to := range of {
			m.Links = append(m.Links, schemas.Link{Rel: schemas.RelDerivedFrom, To: to})
		}
		return m
	}
	source := memory("a1", "level:public", "Ana", "Lantern number 9 was moved by the harbour master on Monday, who was in a hurry.")
	group := memory("a2", "level:public", "Ana", "Lantern number 4 needs oil.")
	w.put(t, "acme", source, group, memory("a3", "level:public", "Bo", "Lantern number 2 hangs in the great hall."),
		summary("of-a1", "The harbour master moved lantern 9.", "a1", "nobody-yet"), summary("of-that", "Lantern 9: moved in a hurry.", "of-a1", "of-that"),
		summary("of-a2", "Lantern 4: oil is due.", "a2"), summary("of-a3", "Lantern 2: in the hall, said Bo.", "a3"))
	ctx := context.Background()
	shown := func(level schemas.Level) []string {
		t.Helper()
		req := ask("lantern number")
		req.Payload.Fill = true
		req.Payload.Repeat = schemas.RepeatFull
		res, err := w.engine.Context(ctx, as(t, "acme", level), req)
		must(t, err)
		got := ids(&res)
		slices.Sort(got)
		return got
	}
	if got := shown(schemas.Internal); !slices.Contains(got, "of-a1") || !slices.Contains(got, "of-that") || !slices.Contains(got, "of-a2") || !slices.Contains(got, "of-a3") {
		t.Fatalf("before: %v", got)
	}
	source.SecurityLabel, group.SecurityLabel = []string{"level:restricted"}, []string{"level:public", "group:risk"}
	w.put(t, "acme", source, group)
	if got := shown(schemas.Internal); slices.Contains(got, "of-a1") || slices.Contains(got, "of-that") || slices.Contains(got, "of-a2") || !slices.Contains(got, "of-a3") {
		t.Errorf("after the sources were raised: %v", got)
	}
	if got := shown(schemas.Restricted); !slices.Contains(got, "of-a1") || !slices.Contains(got, "of-that") || slices.Contains(got, "of-a2") {
		t.Errorf("to who may see one of them: %v", got)
	}
	source.SecurityLabel, source.PIIFlags = []string{"level:public"}, []string{"$.content"}
	w.put(t, "acme", source)
	if got := shown(schemas.Restricted); slices.Contains(got, "of-a1") {
		t.Errorf("a source is redacted, and its summary is not: %v", got)
	}
}

// The other operations ask in the same way, and the log names the reason.
func TestADeniedSummaryIsLogged(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	sum := memory("sum", "level:public", "", "The harbour master moved lantern 9.")
	sum.Kind, sum.Links = schemas.KindSummary, []schemas.Link{{Rel: schemas.RelDerivedFrom, To: "a1"}}
	w.put(t, "acme", memory("a1", "level:restricted", "Ana", "Lantern number 9 was moved."), sum)
	s := as(t, "acme", schemas.Internal)
	out, err := w.engine.Search(context.Background(), s, schemas.SearchRequest{Query: "lantern"})
	must(t, err)
	if len(out.Results) != 0 {
		t.Errorf("shown: %+v", out.Results)
	}
	entries, err := w.log.Read(context.Background(), s, 0, 0)
	must(t, err)
	var d schemas.PolicyDecision
	must(t, json.Unmarshal(entries[len(entries)-1].Data, &d))
	if len(d.Verdicts) != 1 || d.Verdicts[0].ItemID != "sum" || d.Verdicts[0].Allow || d.Verdicts[0].Reason != "source" {
		t.Errorf("verdicts: %+v", d.Verdicts)
	}
}
