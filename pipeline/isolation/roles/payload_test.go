package roles_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"satchel/pipeline/isolation/roles"
	"satchel/schemas"
)

// TestEveryByteOfThePayload accounts for all that a model is shown of a run: the payload
// is, byte for byte, the task, the plan and the snippets, and every snippet is the text of
// an item that this principal's pack shows.
func TestEveryByteOfThePayload(t *testing.T) {
	t.Parallel()
	var e endpoint
	w := open(t, func(cfg *roles.Config) {
		cfg.Model = e.open(t, func(string) (string, int) { return "no", 200 })
	})
	items := outage()
	shown := map[string]string{}
	for i := range items {
		items[i].Attributes = json.RawMessage(`{"hidden":"HIDDEN-1"}`)
		items[i].Category, items[i].EmbeddingRef, items[i].Provenance.SourceURI = "HIDDEN-2", "HIDDEN-3", "HIDDEN-4"
		shown[items[i].ID] = items[i].Content.Text()
	}
	w.remember(t, items...)
	if _, err := w.crew.Run(t.Context(), as(t, "x", schemas.Internal), schemas.RunRequest{Task: question, Purpose: "HIDDEN-5", Session: "HIDDEN-6"}); err != nil {
		t.Fatal(err)
	}
	if len(e.bodies) == 0 {
		t.Fatal("no model was asked")
	}
	for _, body := range e.bodies {
		if strings.Contains(body, "HIDDEN") {
			t.Errorf("a field that is not listed is shown: %s", body)
		}
		var req struct {
			Messages []struct{ Role, Content string }
		}
		must(t, json.Unmarshal([]byte(body), &req))
		content := req.Messages[len(req.Messages)-1].Content
		var p struct {
			Task     string             `json:"task"`
			Steps    []schemas.PlanStep `json:"steps"`
			Snippets []roles.Snippet    `json:"snippets"`
		}
		must(t, json.Unmarshal([]byte(content), &p))
		again, err := json.Marshal(p)
		must(t, err)
		if string(again) != content {
			t.Errorf("the payload has bytes of nothing that is listed:\n%s\n%s", content, again)
		}
		if p.Task != question || len(p.Snippets) == 0 || slices.ContainsFunc(p.Steps, func(s schemas.PlanStep) bool { return !strings.Contains(question, strings.Trim(s.Question, "?. ")) }) {
			t.Errorf("task %q, steps %+v", p.Task, p.Steps)
		}
		for i, s := range p.Snippets {
			if s.Number != i+1 || s.Text == "" || !strings.Contains(shown[s.ItemID], s.Text) {
				t.Errorf("snippet %+v is not the text of its item", s)
			}
		}
	}
}
