package pipeline_test

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
