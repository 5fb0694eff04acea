package op_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"satchel/schemas"
)

// A tool is found by its name, description and parameters; policy keeps it from who may
// not use it; of the others only signature and safety notes leave.
func TestTools(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	tool := func(id, level, attributes string) schemas.MemoryItem {
		return schemas.MemoryItem{ID: id, Kind: schemas.KindTool, Type: schemas.Procedural, CreatedAt: day, SecurityLabel: []string{"level:" + level},
			Scope: schemas.MemoryScope{Tenant: "acme"}, Content: schemas.TextContent("Written to be found by: HIDDEN prose."),
			Attributes: json.RawMessage(attributes)}
	}
	w.put(t, "acme",
		tool("refund", "public", `{"name":"refund_payment","signature":"refund_payment(charge: string, amount: number)","description":"Gives money back",
			"parameters":{"type":"object","properties":{"charge":{"description":"identifier of the zebra transaction"}}},"safety_notes":"moves money","safety_tags":["reversible"]}`),
		tool("weather", "public", `{"name":"weather","signature":"weather(city: string)","description":"Rain and sun"}`),
		tool("payout", "restricted", `{"name":"payout_zebra","signature":"payout(all: bool)","description":"zebra transaction payout"}`),
	)
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Public), ask("zebra transaction"))
	must(t, err)
	got := ids(&res)
	if len(got) == 0 || got[0] != "refund" || slices.Contains(got, "payout") {
		t.Errorf("found %v", got)
	}
	raw, err := json.Marshal(res)
	must(t, err)
	if strings.Contains(string(raw), "HIDDEN") || strings.Contains(string(raw), "payout") {
		t.Errorf("more than a signature left: %s", raw)
	}
	for _, want := range []string{"refund_payment(charge: string, amount: number)", "safety: moves money", "safety tags: reversible"} {
		if !strings.Contains(res.Payload.Text, want) {
			t.Errorf("the pack lacks %q:\n%s", want, res.Payload.Text)
		}
	}
	if r := res.Payload.Pack.Sections; r[0].Type != schemas.SectionTools && len(r) == 1 {
		t.Errorf("sections are %+v", r)
	}
}
