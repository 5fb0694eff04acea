package op_test

import (
	"context"
	"testing"
	"time"

	"satchel/schemas"
)

// What the writer says of an item counts in the default profile.
func TestWritersDecayAndConfidenceCount(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	note := func(id, text string, days int, confidence float64, decay *schemas.DecayFn) schemas.MemoryItem {
		m := memory(id, "level:public", "", text)
		m.Session, m.CreatedAt, m.Confidence, m.DecayFn = "", day.Add(-time.Duration(days)*24*time.Hour), &confidence, decay
		return m
	}
	fades := &schemas.DecayFn{Kind: "exponential", Lambda: .1}
	w.put(t, "acme", append(crowd(200),
		note("old", "The quay crane inspection is booked with Halvard.", 400, 1, fades), note("new", "The quay crane inspection is booked with Sigrid.", 1, 1, fades),
		note("doubt", "The bell tower key is with Anselm.", 1, .15, nil), note("sure", "The bell tower key is with Brunhild.", 1, .95, nil),
		note("unsure", "The south mill opens at seven.", 9, .15, nil), note("certain", "The south mill opens at half past nine.", 1, .95, nil),
		note("over", "The orchard gate rotation is done by Kai.", 400, 1, &schemas.DecayFn{Kind: "step", Days: 30}))...)
	for question, want := range map[string]string{"Who has the quay crane inspection?": "new", "Who has the bell tower key?": "sure", "When does the south mill open?": "certain"} {
		req := ask(question)
		req.Payload.Limit = 1
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), req)
		must(t, err)
		if got := ids(&res); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %s", question, got, want)
		}
	}
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), ask("Who does the orchard gate rotation?"))
	must(t, err)
	for _, id := range ids(&res) {
		if id == "over" {
			t.Error("an item that has decayed to nothing is shown")
		}
	}
}
