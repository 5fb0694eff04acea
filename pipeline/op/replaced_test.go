package op_test

import (
	"fmt"
	"testing"
	"time"

	"satchel/schemas"
)

// What replaces an item takes its place in packs, in whatever words, and what replaces that one in turn.
func TestWhatReplacesAnItemTakesItsPlace(t *testing.T) {
	t.Parallel()
	for steps := 1; steps <= 3; steps++ {
		w := openWorld(t, nil)
		list := []schemas.MemoryItem{memory("old", "level:public", "", "Voltaris of Gdansk supplies our batteries.")}
		for i := range 80 {
			list = append(list, memory(fmt.Sprint("note", i), "level:public", "", fmt.Sprintf("Battery complaint %d: the batteries of bike %d are empty after %d days.", i, 3*i, i%7)))
		}
		before := "old"
		for n, text := range []string{"Accumulators now come from Nordcell in Vaasa.", "Since spring Ostrava ships the cells.", "Kestrel delivers the packs."}[:steps] {
			item := memory(fmt.Sprint("new", n+1), "level:public", "", text)
			item.CreatedAt, item.Links = day.Add(time.Duration(n+1)*time.Hour), []schemas.Link{{Rel: schemas.RelSupersedes, To: before}}
			list, before = append(list, item), item.ID
		}
		w.put(t, "acme", list...)
		req := ask("Who supplies our batteries?")
		req.Payload.IncludeScores = true
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), req)
		must(t, err)
		if got := ranking(&res); len(got) == 0 || got[0] != before {
			t.Errorf("%d replaced: %v, want %s first", steps, got, before)
		}
	}
}
