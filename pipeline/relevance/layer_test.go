package relevance

import "testing"

func TestLayerNamesWhatDecided(t *testing.T) {
	t.Parallel()
	g, err := New(Config{
		TemplateMasks: map[string]map[string]bool{"M": {"skills": false, "memory": true, "facts": true, "gists": true, "identity": true, "tools": false}},
		SignalRules: map[string][]Rule{
			"memory":   {{When: map[string]any{"warm": true}, Strength: Soft}},
			"facts":    {{When: map[string]any{"greeting": true}, Strength: Hard}},
			"gists":    {{When: map[string]any{"greeting": true}, Strength: Hard}},
			"identity": {{When: map[string]any{"greeting": true}, Strength: Hard}},
		},
		UrgencyOverrides: []string{"facts"},
		SafetyOverrides:  map[string][]Condition{"identity": {{When: map[string]any{"returning_from_silence": true}}}},
		Dependencies:     map[string][]string{"memory": {"gists"}},
		Nodes:            map[string]Node{"skills": {}, "memory": {}, "facts": {}, "gists": {}, "identity": {}, "tools": {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := g.Decide(Input{Mode: "M", Signals: map[string]any{"warm": true, "greeting": true}, Classification: map[string]any{"urgency": "high"},
		ReturningFromSilence: true, TokenBudgetRemaining: 5000})
	want := map[string]Layer{"skills": TemplateMask, "memory": SoftRecovery, "facts": Urgency, "gists": Dependency, "identity": Safety}
	for node, layer := range want {
		if got, ok := d.Layer(node); !ok || got != layer {
			t.Errorf("%s was decided by %v (%t), want %v", node, got, ok, layer)
		}
		if d.Includes(node) != (layer != TemplateMask) {
			t.Errorf("%s included: %t", node, d.Includes(node))
		}
	}
	if layer, ok := d.Layer("unknown"); ok {
		t.Errorf("an unknown node was decided by %v", layer)
	}
}
