package roles_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"satchel/pipeline/isolation/roles"
	"satchel/schemas"
)

// asked is all that an endpoint is sent. What has no place in it is an error.
type asked struct {
	Model       string          `json:"model"`
	Messages    []message       `json:"messages"`
	MaxTokens   int             `json:"max_tokens"`
	Temperature float64         `json:"temperature"`
	Format      json.RawMessage `json:"response_format"`
	Stream      bool            `json:"stream"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// payload is all that a model is shown of a run.
type payload struct {
	Task     string             `json:"task"`
	Plan     []schemas.PlanStep `json:"plan"`
	Snippets []schemas.Snippet  `json:"snippets"`
}

// exactly decodes raw and makes sure that it holds nothing but what was decoded, byte for
// byte.
func exactly(t *testing.T, raw string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(raw))
	d.DisallowUnknownFields()
	must(t, d.Decode(into))
	var again bytes.Buffer
	e := json.NewEncoder(&again)
	e.SetEscapeHTML(strings.Contains(raw, "\\u003"))
	must(t, e.Encode(into))
	if strings.TrimSuffix(again.String(), "\n") != raw {
		t.Errorf("there are bytes of nothing that is listed:\n%s\n%s", raw, again.String())
	}
}

// TestEveryByteOfThePayload accounts for all that is sent to a model's endpoint: the
// settings, the instructions, which are the same in every run, and the payload, which is,
// byte for byte, the task, the plan and the snippets; and every snippet is the text of an
// item that this principal's pack shows.
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
	const other = "Who restarted the proxies of the gateway?"
	for _, task := range []string{question, other} {
		if _, err := w.runner.Run(t.Context(), as(t, "HIDDEN-7", schemas.Internal), schemas.RunRequest{Task: task, Purpose: "HIDDEN-5", Session: "HIDDEN-6"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(e.bodies) < 2 {
		t.Fatal("no model was asked")
	}
	var instructions, format string
	for i, body := range e.bodies {
		if strings.Contains(body, "HIDDEN") {
			t.Errorf("a field that is not listed is shown: %s", body)
		}
		var req asked
		exactly(t, body, &req)
		if req.Model != "m-1" || req.MaxTokens != 800 || req.Temperature != 0 || req.Stream || len(req.Messages) != 2 || req.Messages[0].Role != "system" || req.Messages[1].Role != "user" {
			t.Fatalf("request %+v", req)
		}
		if i > 0 && (req.Messages[0].Content != instructions || string(req.Format) != format) {
			t.Errorf("the instructions are other ones in another run: %q, %q", instructions, req.Messages[0].Content)
		}
		instructions, format = req.Messages[0].Content, string(req.Format)
		var p payload
		exactly(t, req.Messages[1].Content, &p)
		if p.Task != question && p.Task != other || len(p.Snippets) == 0 ||
			slices.ContainsFunc(p.Plan, func(s schemas.PlanStep) bool {
				return !strings.Contains(p.Task, strings.Trim(s.Question, "?. ")) || len(s.ID) != 1
			}) {
			t.Errorf("task %q, plan %+v", p.Task, p.Plan)
		}
		for i, s := range p.Snippets {
			if s.Number != i+1 || s.Text == "" || !strings.Contains(shown[s.ItemID], s.Text) {
				t.Errorf("snippet %+v is not the text of its item", s)
			}
		}
	}
}
