package op_test

import (
	"fmt"
	"strings"
	"testing"

	"satchel/schemas"
)

// Of more versions of a statement than a search finds, the newest is shown, whatever ids, lengths and limits are.
func TestTheNewestOfManyVersionsIsShown(t *testing.T) {
	t.Parallel()
	const text = "The evening check of the north pump in the old mill found a pressure of %s bar, and the valve to the lower basin was closed again by the warden before supper."
	for name, id := range map[string]func(n int) string{
		"later ids last":  func(n int) string { return fmt.Sprintf("v%03d", n) },
		"later ids first": func(n int) string { return fmt.Sprintf("v%03d", 999-n) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const many = 250
			w := openWorld(t, nil)
			var all []schemas.MemoryItem
			for n := range many {
				value := fmt.Sprint(1000 + n)
				if n%3 == 0 {
					value = "about " + value // some are longer
				}
				all = append(all, version(id(n), "pump", fmt.Sprintf(text, value), n))
			}
			w.put(t, "acme", all...)
			s, want := as(t, "acme", schemas.Public), fmt.Sprint(1000+many-1, " bar")
			const question = "What pressure did the evening check of the north pump find?"
			for _, limit := range []int{1, 5, 50} {
				found, err := w.engine.Search(t.Context(), s, schemas.SearchRequest{Query: question, Limit: limit})
				must(t, err)
				if len(found.Results) == 0 || found.Results[0].Memory.ID != id(many-1) {
					t.Errorf("limit %d: the first of %d results is not the newest", limit, len(found.Results))
				}
				req := ask(question)
				req.Payload.Limit = limit
				res, err := w.engine.Context(t.Context(), s, req)
				must(t, err)
				if !strings.Contains(res.Payload.Text, want) {
					t.Errorf("limit %d: the pack lacks %q:\n%s", limit, want, res.Payload.Text)
				}
			}
			built, err := w.engine.Build(t.Context(), s, schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: question, Limit: 3}})
			must(t, err)
			preview, err := w.engine.Preview(t.Context(), s, schemas.BuildRequest{SearchRequest: schemas.SearchRequest{Query: question, Limit: 3}})
			must(t, err)
			if len(preview.MemoryIDs) != len(built.Memories) || preview.MemoryIDs[0] != built.Memories[0].Memory.ID || len(preview.Memories) != len(built.Memories) {
				t.Errorf("the preview has %q, the build %d memories", preview.MemoryIDs, len(built.Memories))
			}
			assembled, err := w.engine.Assemble(t.Context(), s, schemas.AssembleRequest{Query: question})
			must(t, err)
			for door, text := range map[string]string{"build": built.Context, "assemble": assembled.Markdown} {
				if !strings.Contains(text, want) {
					t.Errorf("%s lacks %q:\n%s", door, want, text)
				}
			}
		})
	}
}
