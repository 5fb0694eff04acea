package op_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"satchel/schemas"
)

// TestToolsLeavePlacesToOtherItems has hundreds of tools that fit the question better than what is
// known of its subject: the pack has that too.
func TestToolsLeavePlacesToOtherItems(t *testing.T) {
	t.Parallel()
	var list []schemas.MemoryItem
	for i := range 300 {
		raw, err := json.Marshal(schemas.ToolAttributes{Name: fmt.Sprint("weather_", i), Signature: fmt.Sprintf("weather_%d(city)", i)})
		must(t, err)
		list = append(list, schemas.MemoryItem{
			ID: fmt.Sprintf("t%03d", i), Kind: schemas.KindTool, Type: schemas.Procedural, CreatedAt: day, SecurityLabel: []string{"level:public"}, Attributes: raw,
			Content: schemas.TextContent(fmt.Sprintf("Get the weather forecast of a city by calling function %d.", i)), Scope: schemas.MemoryScope{Tenant: "acme"},
		})
	}
	said := memory("said", "level:public", "", "Ada trusts no weather forecast for the harbour, whoever made it, and looks at the gulls before she sails out with her brother.")
	said.Session = ""
	w := openWorld(t, nil)
	w.put(t, "acme", append(append(list, crowd(200)...), said)...)
	res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), ask("call a function to get the weather forecast of a city"))
	must(t, err)
	if got := ids(&res); len(got) < 2 || !slices.Contains(got, "said") {
		t.Errorf("shown %v of %d found", got, res.Payload.TotalCount)
	}
}

// TestToolsAreFoundAmongOtherItems has thousands of turns that fit the question better than the tool
// that answers it: the pack has that tool too, and no tool where the question is about the turns.
func TestToolsAreFoundAmongOtherItems(t *testing.T) {
	t.Parallel()
	list := crowd(2000)
	for i := range list {
		list[i].SecurityLabel = []string{"level:public"}
		list[i].Content = schemas.TextContent(fmt.Sprintf("Ada wants to convert dollars to euros for the trip to Lisbon, said Jonas in letter %d.", i))
	}
	tool := func(id, level, text string) schemas.MemoryItem {
		return schemas.MemoryItem{ID: id, Kind: schemas.KindTool, Type: schemas.Procedural, CreatedAt: day, SecurityLabel: []string{"level:" + level},
			Content: schemas.TextContent(text), Scope: schemas.MemoryScope{Tenant: "acme"}}
	}
	list = append(list, tool("exchange", "public", "exchange: Convert dollars to euros at the rate of today."),
		tool("vault", "restricted", "vault: Convert dollars to euros at the rate of the bank."))
	for i := range 40 {
		list = append(list, tool(fmt.Sprintf("other%02d", i), "public", fmt.Sprintf("Draw chart %d of a table of measurements.", i)))
	}
	w := openWorld(t, nil)
	w.put(t, "acme", list...)
	shown := func(question string) (tools []string) {
		res, err := w.engine.Context(t.Context(), as(t, "acme", schemas.Public), ask(question))
		must(t, err)
		for _, r := range res.Payload.Results {
			if r.Metadata.Kind == schemas.KindTool {
				tools = append(tools, r.ID)
			}
		}
		for _, d := range res.Payload.Drop.Drops {
			if d.ItemID == "vault" {
				t.Errorf("%q: the report names a tool that policy hides", question)
			}
		}
		return tools
	}
	if got := shown("Convert dollars to euros for the trip to Lisbon"); !slices.Equal(got, []string{"exchange"}) {
		t.Errorf("shown are the tools %v", got)
	}
	if got := shown("What did Jonas say about the trip to Lisbon in letter 7?"); len(got) > 0 {
		t.Errorf("a question about letters is shown the tools %v", got)
	}
}
