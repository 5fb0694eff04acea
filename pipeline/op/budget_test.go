package op_test

import (
	"fmt"
	"strings"
	"testing"

	"satchel/pipeline"
	"satchel/pipeline/op"
	"satchel/schemas"
)

// TestABudgetHoldsAtEveryDoor tries each limit of the engine at each operation that answers a question, with a wish
// above it.
func TestABudgetHoldsAtEveryDoor(t *testing.T) {
	t.Parallel()
	const wish = 90
	var list []schemas.MemoryItem
	for i := range 60 {
		m := memory(fmt.Sprintf("m%02d", i), "level:public", "", fmt.Sprintf("The lantern of dock %d %s.", i, strings.Repeat(fmt.Sprintf("hangs over gate %d and shed %d, ", i*7, i*13), 1+i%3)))
		m.Session = ""
		x := experience(fmt.Sprintf("x%02d", i), "docks", "", "falsified", fmt.Sprintf("lantern work at dock %d over gate %d", i, i*7), fmt.Sprintf("gate %d was shut", i*7), "")
		list = append(list, m, x)
	}
	type used = struct{ items, tokens, bytes int }
	open := func(b pipeline.Budget) *world {
		w := openWorld(t, func(c *op.Config) { c.Slice = b })
		w.learn(t, "acme", list...)
		return w
	}
	search := schemas.SearchRequest{Query: "lantern of the dock over the gate", Limit: wish}
	ofResults := func(w *world, text string, results []schemas.SearchResult) (u used) {
		for i := range results {
			u.items, u.bytes = u.items+1, u.bytes+len(results[i].Memory.Content.Text())
			text += results[i].Memory.Content.Text() + "\n"
		}
		u.tokens = w.tokens.Count(text)
		return u
	}
	s := as(t, "acme", schemas.Internal)
	doors := map[string]func(*world) (used, []string){
		"ask": func(w *world) (used, []string) {
			req := ask(search.Query)
			req.Payload.TokenBudget, req.Payload.Limit, req.Payload.MaxBytes, req.Payload.UserMessage, req.Payload.Task = 50_000, wish, 1<<20, "", ""
			res, err := w.engine.Context(t.Context(), s, req)
			must(t, err)
			b := res.Payload.Explainability.Slicing.BudgetUsed
			return used{b.Items, b.EstimatedTokens, b.Bytes}, res.Payload.Explainability.Warnings
		},
		"ask without a limit": func(w *world) (used, []string) {
			req := ask(search.Query)
			req.Payload.TokenBudget, req.Payload.UserMessage, req.Payload.Task = 16_000, "", ""
			res, err := w.engine.Context(t.Context(), s, req)
			must(t, err)
			b := res.Payload.Explainability.Slicing.BudgetUsed
			return used{b.Items, b.EstimatedTokens, b.Bytes}, nil
		},
		"search": func(w *world) (used, []string) {
			out, err := w.engine.Search(t.Context(), s, search)
			must(t, err)
			return ofResults(w, "", out.Results), out.Warnings
		},
		"build": func(w *world) (used, []string) {
			out, err := w.engine.Build(t.Context(), s, schemas.BuildRequest{SearchRequest: search, TokenBudget: 50_000})
			must(t, err)
			u := ofResults(w, "", out.Memories)
			u.tokens = out.TokenCount
			return u, out.Warnings
		},
		"preview": func(w *world) (used, []string) {
			out, err := w.engine.Preview(t.Context(), s, schemas.BuildRequest{SearchRequest: search, TokenBudget: 50_000})
			must(t, err)
			return used{items: len(out.MemoryIDs), tokens: out.TokenCount}, out.Warnings
		},
		"assemble": func(w *world) (used, []string) {
			out, err := w.engine.Assemble(t.Context(), s, schemas.AssembleRequest{Query: search.Query, Limit: wish, MaxTokens: 50_000})
			must(t, err)
			return ofAssembly(&out), out.Warnings
		},
		"premortem": func(w *world) (used, []string) {
			out, err := w.engine.Premortem(t.Context(), s, schemas.PremortemRequest{Domain: "docks", Limit: wish, MaxTokens: 50_000})
			must(t, err)
			return ofAssembly(&out), out.Warnings
		},
	}
	for _, b := range []pipeline.Budget{{Items: 4}, {Tokens: 300}, {Bytes: 2000}} {
		w := open(b)
		for door, try := range doors {
			u, warnings := try(w)
			if u.items == 0 {
				t.Errorf("%s with %+v shows nothing", door, b)
			}
			if b.Items > 0 && u.items > b.Items || b.Tokens > 0 && u.tokens > b.Tokens || b.Bytes > 0 && u.bytes > b.Bytes {
				t.Errorf("%s with at most %+v gives %+v", door, b, u)
			}
			if all := strings.Join(warnings, "\n"); strings.Contains(all, "higher limit") {
				t.Errorf("%s promises what it does not give: %q", door, all)
			}
		}
	}
}

func ofAssembly(out *schemas.FormattedContext) (u struct{ items, tokens, bytes int }) {
	u.tokens = out.TokenCount
	for i := range out.Items {
		u.items, u.bytes = u.items+1, u.bytes+len(out.Items[i].Content)
	}
	return u
}
