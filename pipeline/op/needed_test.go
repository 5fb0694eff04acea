package op_test

import (
	"fmt"
	"strings"
	"testing"

	"satchel/schemas"
)

// publicCorpus is a corpus of the tenant acme that everybody may see.
func publicCorpus(n int, seed uint64) []schemas.MemoryItem {
	list := corpus(n, seed)
	for i := range list {
		list[i].Scope.Tenant, list[i].SecurityLabel = "acme", []string{"level:public"}
	}
	return list
}

// A pack that ends early has the later word on what its likeliest item says, and what answers each part of a question.
func TestWhatAPackMustNotLeaveOut(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := publicCorpus(400, 7)
	for i, text := range []string{
		"An adult ticket costs 8 EUR and a ticket for children costs 4 EUR.", "The board met in the Palm House on Friday. It talked about the roof, the heating and the new beds for an hour, and at the end it raised the adult ticket to 9.50 EUR for everybody who comes from August.",
		"The audio guide costs 3 EUR, and the deposit for it is 20 EUR.", "The yard was full again today: sand, two pallets of slabs for the terrace, and gravel, which Jansen & Sons brings from their own pit whenever somebody calls.",
		"The gravel of the car park was raked.",
	} {
		m := item(schemas.KindMemory, fmt.Sprint("note", i), text, nil)
		m.Scope.Tenant, m.SecurityLabel, m.CreatedAt = "acme", []string{"level:public"}, day.AddDate(0, i-6, 0)
		list = append(list, m)
	}
	w.put(t, "acme", list...)
	for question, want := range map[string][]string{
		"What does an adult ticket cost?":                           {"8 EUR", "9.50 EUR"},
		"Who brings our gravel and what does the audio guide cost?": {"Jansen", "3 EUR"},
	} {
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Internal), ask(question))
		must(t, err)
		text := res.Payload.Text
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in\n%s", question, part, text)
			}
		}
	}
}

// What has every word of the question is shown beside what says it best, also where parts of it are hidden.
func TestWhatHasAllWordsIsShown(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	list := publicCorpus(400, 7)
	for id, text := range map[string]string{"plain": "The turbine five rules note is harmless.", "masked": ""} {
		m := item(schemas.KindMemory, id, text, nil)
		if text == "" {
			m.Content = schemas.JSONContent([]byte(`{"note":"The turbine five rules note is about a person.","name":"Mara Lind","ward":"north wing, second floor, beside the pharmacy and the old laundry","meals":"soup, bread, tea at four"}`))
			m.PIIFlags = []string{"$.content.name"}
		}
		m.Scope.Tenant, m.SecurityLabel, m.CreatedAt = "acme", []string{"level:public"}, day
		list = append(list, m)
	}
	w.put(t, "acme", list...)
	res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), ask("turbine five rules note"))
	must(t, err)
	if text := res.Payload.Text; !strings.Contains(text, "harmless") || !strings.Contains(text, "about a person") || strings.Contains(text, "Lind") {
		t.Errorf("%s", text)
	}
}
