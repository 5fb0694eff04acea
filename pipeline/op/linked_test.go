package op_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"satchel/schemas"
)

// linkedWorld has a chain of causes that share no word with the question, among thousands of items
// that do.
func linkedWorld(t *testing.T, change func(chain []schemas.MemoryItem)) *world {
	t.Helper()
	w := openWorld(t, nil)
	item := func(id, text string, links ...schemas.Link) schemas.MemoryItem {
		m := memory(id, "level:public", "", text)
		m.Session, m.Links = "", links
		return m
	}
	cause := func(to string) schemas.Link { return schemas.Link{Rel: schemas.RelCausedBy, To: to} }
	chain := []schemas.MemoryItem{
		item("e0", "The pump house lost pressure.", cause("e1")), item("e1", "A gasket had been fitted backwards.", cause("e2")),
		item("e2", "New fitters came without training.", cause("e3")), item("e3", "Money ran short in spring."),
	}
	if change != nil {
		change(chain)
	}
	list := chain
	for i := range 3000 {
		list = append(list, item(fmt.Sprintf("f%04d", i), fmt.Sprintf("House %d has a pump; its pressure was read on day %d.", i, i%28)))
	}
	w.put(t, "acme", list...)
	return w
}

func TestCausesAreFoundOverLinks(t *testing.T) {
	t.Parallel()
	w := linkedWorld(t, nil)
	for name, c := range map[string]struct {
		text  string
		query schemas.Query
		want  []string
	}{
		"why":           {"Why did the pump house lose pressure?", schemas.Query{}, []string{"e0", "e1", "e2"}},
		"what happened": {"What happened when the pump house lost pressure?", schemas.Query{}, []string{"e0", "e1", "e2"}},
		"one hop":       {"Why did the pump house lose pressure?", schemas.Query{Graph: &schemas.GraphQuery{Hops: 1}}, []string{"e0", "e1"}},
		"three hops": {"The pump house lost pressure", schemas.Query{Type: schemas.QueryGraph,
			Graph: &schemas.GraphQuery{Rels: []schemas.Rel{schemas.RelCausedBy}, Hops: 3}}, []string{"e0", "e1", "e2", "e3"}},
		"other links": {"Why did the pump house lose pressure?", schemas.Query{
			Graph: &schemas.GraphQuery{Rels: []schemas.Rel{schemas.RelMentions}}}, []string{"e0"}},
		"from an item": {"read on day 3", schemas.Query{Graph: &schemas.GraphQuery{From: []string{"e1"}, Hops: 2}}, []string{"e0", "e1", "e2", "e3"}},
		"keyword":      {"Why did the pump house lose pressure?", schemas.Query{Type: schemas.QueryKeyword}, []string{"e0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := ask(c.text)
			req.Payload.Query, req.Payload.Limit, req.Payload.IncludeScores, req.Payload.IncludeGraph = c.query, 12, true, true
			req.Payload.Query.Text = c.text
			res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), req)
			must(t, err)
			var got []string
			score := map[string]float64{}
			for _, r := range res.Payload.Results {
				if r.ID[0] == 'e' {
					got = append(got, r.ID)
				}
				score[r.ID] = *r.Score
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("shown %v, want %v", got, c.want)
			}
			if name == "why" && (score["e1"] >= score["e0"] || score["e2"] >= score["e1"] || score["e2"] <= 0) {
				t.Errorf("scores do not fall along the chain: %v", score)
			}
			edges := 0
			for _, e := range res.Payload.Explainability.CausalGraph.Edges {
				if e.Rel == schemas.RelCausedBy {
					edges++
				}
			}
			if edges < len(c.want)-1 {
				t.Errorf("%d edges in the causal graph, want %d", edges, len(c.want)-1)
			}
		})
	}
}

// An assembly brings the causes that links give, also of another kind, as a context does; and none that is hidden.
func TestAnAssemblyHasTheCauses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(chain []schemas.MemoryItem)
		want   []string
		not    string
	}{
		"memories": {nil, []string{"lost pressure", "fitted backwards", "without training"}, "\x00"},
		"a commit": {func(chain []schemas.MemoryItem) { chain[1].Kind = schemas.KindCommit }, []string{"lost pressure", "fitted backwards"}, "\x00"},
		"hidden":   {func(chain []schemas.MemoryItem) { chain[1].SecurityLabel = []string{"level:confidential"} }, []string{"lost pressure"}, "backwards"},
	} {
		w := linkedWorld(t, c.change)
		out, err := w.engine.Assemble(t.Context(), as(t, "acme", schemas.Public), schemas.AssembleRequest{Query: "Why did the pump house lose pressure?"})
		must(t, err)
		for _, want := range c.want {
			if !strings.Contains(out.Markdown, want) {
				t.Errorf("%s: %q is not there:\n%s", name, want, out.Markdown)
			}
		}
		if strings.Contains(out.Markdown, c.not) {
			t.Errorf("%s: %q is there", name, c.not)
		}
	}
}

// An item or a link that the principal may not see leads nowhere.
func TestHiddenLinksLeadNowhere(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(chain []schemas.MemoryItem){
		"item": func(chain []schemas.MemoryItem) { chain[1].SecurityLabel = []string{"level:confidential"} },
		"link": func(chain []schemas.MemoryItem) { chain[0].PIIFlags = []string{"$.links"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := linkedWorld(t, change)
			req := ask("Why did the pump house lose pressure?")
			req.Payload.Limit = 12
			res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), req)
			must(t, err)
			for _, id := range ids(&res) {
				if id == "e1" || id == "e2" {
					t.Errorf("%s is shown", id)
				}
			}
		})
	}
}
