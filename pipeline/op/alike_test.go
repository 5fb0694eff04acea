package op_test

import (
	"fmt"
	"testing"

	"satchel/schemas"
)

// TestSignalsDecideBetweenWhatIsAlike: of two items that differ in a word which nobody asked for, the
// better comes first by default, whichever of the two words it has.
func TestSignalsDecideBetweenWhatIsAlike(t *testing.T) {
	t.Parallel()
	of := func(v float64) *float64 { return &v }
	for name, c := range map[string]struct{ worse, better func(*schemas.MemoryItem) }{
		"recency":    {func(m *schemas.MemoryItem) { m.CreatedAt = day.AddDate(-1, 0, 0) }, func(*schemas.MemoryItem) {}},
		"importance": {func(m *schemas.MemoryItem) { m.Importance = of(.1) }, func(m *schemas.MemoryItem) { m.Importance = of(.95) }},
		"novelty":    {func(m *schemas.MemoryItem) { m.Novelty = of(.95) }, func(m *schemas.MemoryItem) { m.Novelty = of(.05) }},
		"trust":      {func(m *schemas.MemoryItem) { m.Trust = of(.35) }, func(m *schemas.MemoryItem) { m.Trust = of(.95) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, stations := range [][2]string{{"Alpha", "Bravo"}, {"Bravo", "Alpha"}} {
				w := openWorld(t, nil)
				list := crowd(100)
				for i, id := range []string{"worse", "better"} {
					m := memory(id, "level:public", "", fmt.Sprintf("The dredger inspection of the night shift at station %s was signed off.", stations[i]))
					m.Session, m.Provenance.SourceURI = "", "agent:"+id // of one source they would be versions of one statement
					[]func(*schemas.MemoryItem){c.worse, c.better}[i](&m)
					list = append(list, m)
				}
				w.put(t, "acme", list...)
				asked := func(question string) string {
					req := ask(question)
					req.Payload.IncludeScores = true
					res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), req)
					must(t, err)
					return ranking(&res)[0]
				}
				if got := asked("dredger inspection signed off"); got != "better" {
					t.Errorf("the worse at %s, the better at %s: %s is first", stations[0], stations[1], got)
				}
				if got := asked("Which dredger inspection of station " + stations[0] + " was signed off?"); got != "worse" {
					t.Errorf("asked for station %s: %s is first", stations[0], got)
				}
			}
		})
	}
}
