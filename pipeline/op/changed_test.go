package op_test

import (
	"fmt"
	"testing"

	"satchel/schemas"
)

// A pack that ends has the later notes most like its likeliest, whatever words of the question they have, and no earlier one for that.
func TestALaterNoteInOtherWordsStays(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	note := func(id, text string, days int) schemas.MemoryItem {
		m := memory(id, "level:public", "", text)
		m.Session, m.CreatedAt = "", day.AddDate(0, 0, days)
		return m
	}
	list := []schemas.MemoryItem{
		note("old", "The builds of our software run on the Jenkins server in the cellar.", -200),
		note("before", "The server in the cellar got a new fan and more memory.", -300),
		note("after", "I switched the server in the cellar off; pipelines are on GitLab now.", -20),
	}
	for n := range 200 {
		text := []string{"Customer %d asked for a bell.", "Bike %d was sold with a basket.", "Invoice %d was paid by the club.", "The tyre of bike %d lost air."}[n%4]
		list = append(list, note(fmt.Sprint("note", n), fmt.Sprintf(text, n), -n%90))
	}
	w.put(t, "acme", list...)
	req := ask("Where do our software builds run?")
	req.Payload.UserMessage, req.Payload.Task, req.Payload.TokenBudget = "", "", 2000
	res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), req)
	must(t, err)
	shown := map[string]bool{}
	for _, id := range ids(&res) {
		shown[id] = true
	}
	if !shown["old"] || !shown["after"] || shown["before"] || len(shown) > 5 {
		t.Errorf("shown %v", shown)
	}
}
