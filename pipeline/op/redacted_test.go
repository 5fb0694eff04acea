package op_test

import (
	"encoding/json"
	"maps"
	"testing"

	"satchel/schemas"
)

// Every reply says of an item that policy masked that it is redacted, and of no other.
func TestEveryReplySaysWhatIsMasked(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	const long = "The lantern of the harbour was mended. Ana said so. Then the board met, and the lantern was sold to a museum."
	masked := map[string]bool{}
	add := func(id, content string, is bool, change func(*schemas.MemoryItem)) {
		m := memory(id, "level:public", "Ana", content)
		m.Content = schemas.TextContent(content)
		change(&m)
		w.put(t, "acme", m)
		masked[id] = is
	}
	label := func(labels ...string) func(*schemas.MemoryItem) {
		return func(m *schemas.MemoryItem) { m.SecurityLabel = append(m.SecurityLabel, labels...) }
	}
	add("plain", "The lantern of the harbour is green.", false, label())
	add("detected", "Ask ida@example.com about the lantern of the ferry.", true, label("detected:email"))
	add("nothing", "The lantern of the library was painted on Monday.", false, label("detected:email"))
	add("speaker", "The lantern of the school hangs at gate nine.", true, func(m *schemas.MemoryItem) {
		m.Speaker, m.SecurityLabel = "bob@example.com", append(m.SecurityLabel, "detected:email")
	})
	add("extract", long, true, label("extract:12"))
	add("short", "The lantern of the inn broke.", false, label("extract:64"))
	add("flagged", "", true, func(m *schemas.MemoryItem) {
		must(t, json.Unmarshal([]byte(`{"text":"The lantern of the mill was stolen.","pin":"4821"}`), &m.Content))
		m.PIIFlags = []string{"$.content.pin"}
	})
	ctx, s, from := t.Context(), as(t, "acme", schemas.Public), schemas.SearchRequest{Query: "lantern", Limit: 50}
	packed, err := w.engine.Context(ctx, s, ask("lantern"))
	must(t, err)
	ids := []string{"plain", "detected", "nothing", "speaker", "extract", "short", "flagged"}
	brought := packed
	brought.Payload.Drop.Drops = nil
	for _, id := range ids {
		brought.Payload.Drop.Drops = append(brought.Payload.Drop.Drops, schemas.Drop{ItemID: id, Reason: schemas.DropBudget})
	}
	for name, run := range map[string]func() (any, error){
		"request":      func() (any, error) { return packed, nil },
		"search":       func() (any, error) { return w.engine.Search(ctx, s, from) },
		"build":        func() (any, error) { return w.engine.Build(ctx, s, schemas.BuildRequest{SearchRequest: from}) },
		"items":        func() (any, error) { return w.engine.Items(ctx, s, schemas.ItemsRequest{}) },
		"items by ids": func() (any, error) { return w.engine.Items(ctx, s, schemas.ItemsRequest{ItemIDs: ids}) },
		"recover": func() (any, error) {
			return w.engine.Recover(ctx, s, schemas.RecoverRequest{PackID: packed.Payload.PackID, ItemIDs: ids}, &brought)
		},
		"compact": func() (any, error) {
			return w.engine.Compact(ctx, s, schemas.CompactRequest{PackID: packed.Payload.PackID, Query: "lantern", Budget: 900}, &packed)
		},
	} {
		out, err := run()
		must(t, err)
		raw, err := json.Marshal(out)
		must(t, err)
		var tree any
		must(t, json.Unmarshal(raw, &tree))
		if got := redactions(tree, map[string]bool{}); !maps.Equal(got, masked) {
			t.Errorf("%s: redacted %v, want %v", name, got, masked)
		}
	}
}

// redactions collects what a reply says of its items, by their ids.
func redactions(tree any, out map[string]bool) map[string]bool {
	switch x := tree.(type) {
	case map[string]any:
		if meta, ok := x["metadata"].(map[string]any); ok && meta["redacted"] != nil {
			out[x["id"].(string)] = meta["redacted"].(bool)
		}
		for _, child := range x {
			redactions(child, out)
		}
	case []any:
		for _, child := range x {
			redactions(child, out)
		}
	}
	return out
}
