package relevance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"satchel/pipeline/relevance"
	"satchel/schemas"
)

func gate(t testing.TB, text string) *relevance.Gate {
	t.Helper()
	var c relevance.Config
	if text != "" {
		var err error
		if c, err = relevance.Parse([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	g, err := relevance.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

type signals = map[string]any

func TestBuiltInNodes(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`act_history active_lists available_skills available_tools client_context communication_style
		episodic_memory facts focus gists identity_context identity_modulation onboarding_nudge user_traits warm_return_hint
		working_memory world_state`)
	if diff := cmp.Diff(want, gate(t, "").Nodes()); diff != "" {
		t.Errorf("nodes (-want +have):\n%s", diff)
	}
}

func TestTemplateMasks(t *testing.T) {
	t.Parallel()
	g := gate(t, "")
	for mode, out := range map[string][]string{
		"RESPOND":     {"available_tools", "act_history"},
		"CLARIFY":     {"focus", "available_skills", "available_tools", "warm_return_hint"},
		"ACKNOWLEDGE": {"episodic_memory", "facts", "gists", "working_memory", "available_skills", "world_state"},
		"ACT":         {"identity_context", "user_traits", "identity_modulation"},
	} {
		d := g.Decide(relevance.Input{Mode: mode})
		for _, node := range out {
			if d.Includes(node) || !slices.Contains(d.Trace.ExcludedHard, node) {
				t.Errorf("%s includes %s", mode, node)
			}
		}
		if len(d.Trace.Warnings) > 0 {
			t.Errorf("%s: %v", mode, d.Trace.Warnings)
		}
	}
	custom := gate(t, `{"nodes":{"new_node":{}},"template_masks":{"MINE":{"facts":false,"new_node":true}}}`)
	if d := custom.Decide(relevance.Input{Mode: "MINE"}); d.Includes("facts") || !d.Includes("new_node") || !d.Includes("gists") {
		t.Errorf("custom mode: %+v", d.Trace)
	}
}

func TestSignalRules(t *testing.T) {
	t.Parallel()
	g := gate(t, "")
	warm := g.Decide(relevance.Input{Mode: "CLARIFY", Signals: signals{"context_warmth": 0.7, "working_memory_turns": 3}})
	if warm.Includes("episodic_memory") || !slices.Contains(warm.Trace.ExcludedSoft, "episodic_memory") {
		t.Errorf("a warm CLARIFY: %+v", warm.Trace)
	}
	greeting := g.Decide(relevance.Input{Mode: "RESPOND", TokenBudgetRemaining: 9000,
		Signals: signals{"greeting_pattern": true, "prompt_token_count": 2, "context_warmth": 0.7, "working_memory_turns": 3}})
	if greeting.Includes("episodic_memory") || !slices.Contains(greeting.Trace.ExcludedHard, "episodic_memory") {
		t.Errorf("a greeting (hard wins over soft): %+v", greeting.Trace)
	}
	if d := g.Decide(relevance.Input{Mode: "RESPOND"}); !d.Includes("episodic_memory") {
		t.Errorf("missing signals: %+v", d.Trace)
	}
}

func TestPredicates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		when string
		in   signals
		want bool
	}{
		{`{"n_gte":2}`, signals{"n": 2}, true}, {`{"n_gte":2}`, signals{"n": 1.9}, false},
		{`{"n_gt":2}`, signals{"n": 2}, false}, {`{"n_gt":2}`, signals{"n": json.Number("2.5")}, true},
		{`{"n_lte":2}`, signals{"n": float32(2)}, true}, {`{"n_lte":2}`, signals{"n": int64(3)}, false},
		{`{"n_lt":2}`, signals{"n": 1}, true}, {`{"n_lt":2}`, signals{}, false},
		{`{"n_eq":2}`, signals{"n": 2}, true}, {`{"n_eq":"x"}`, signals{"n": "x"}, true},
		{`{"n":true}`, signals{"n": true}, true}, {`{"n":true}`, signals{"n": false}, false},
		{`{"n":"a"}`, signals{"n": "b"}, false}, {`{"n":1}`, signals{"n": "1"}, false},
		{`{"n_gte":1}`, signals{"n": "7"}, false}, {`{"n":1}`, signals{"n": []int{1}}, false},
		{`{"n":1,"m":2}`, signals{"n": 1}, false}, {`{"n":1,"m":2}`, signals{"n": 1, "m": 2}, true},
		{`{"returning_from_silence":false}`, nil, true}, {`{"returning_from_silence":true}`, nil, false},
	} {
		g := gate(t, `{"template_masks":{"M":{}},"signal_rules":{"facts":[{"when":`+c.when+`,"strength":"hard"}]}}`)
		if d := g.Decide(relevance.Input{Mode: "M", Signals: c.in}); d.Includes("facts") == c.want {
			t.Errorf("%s with %v: excluded %v, want %v", c.when, c.in, !d.Includes("facts"), c.want)
		}
	}
}

func TestUrgency(t *testing.T) {
	t.Parallel()
	g := gate(t, "")
	d := g.Decide(relevance.Input{Mode: "ACKNOWLEDGE", Classification: signals{"urgency": "high"}})
	for _, node := range []string{"working_memory", "world_state", "facts"} {
		if !d.Includes(node) {
			t.Errorf("urgent turn without %s", node)
		}
	}
	if !slices.Contains(d.Trace.OverridesApplied, "urgency") {
		t.Errorf("trace %+v", d.Trace)
	}
	if d := g.Decide(relevance.Input{Mode: "ACKNOWLEDGE", Classification: signals{"urgency": "low"}}); d.Includes("facts") {
		t.Error("a calm turn is treated as urgent")
	}
}

func TestSoftRecovery(t *testing.T) {
	t.Parallel()
	const config = `{"template_masks":{"M":{"facts":true}},"soft_recovery_budget":1000,"soft_recovery_priority":["b","a"],
		"nodes":{"a":{"est_tokens":300},"b":{"est_tokens":300},"c":{"est_tokens":300},"h":{"est_tokens":1}},
		"signal_rules":{"a":[{"when":{"x":1},"strength":"soft"}],"b":[{"when":{"x":1},"strength":"soft"}],
			"c":[{"when":{"x":1},"strength":"soft"}],"h":[{"when":{"x":1},"strength":"hard"}]}}`
	g := gate(t, config)
	for _, c := range []struct {
		tokens int
		want   []string
	}{{0, nil}, {999, nil}, {1000, []string{"b"}}, {1299, []string{"b"}}, {1300, []string{"a", "b"}}, {1600, []string{"a", "b", "c"}}, {99999, []string{"a", "b", "c"}}} {
		d := g.Decide(relevance.Input{Mode: "M", Signals: signals{"x": 1}, TokenBudgetRemaining: c.tokens})
		if diff := cmp.Diff(c.want, d.Trace.RecoveredSoft); diff != "" {
			t.Errorf("%d tokens (-want +have):\n%s", c.tokens, diff)
		}
		if d.Includes("h") {
			t.Error("a hard exclusion was recovered")
		}
	}
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	g := gate(t, `{"nodes":{"a":{},"b":{},"c":{}},"template_masks":{"M":{"a":true,"b":false,"c":false}},"dependencies":{"a":["b"],"b":["c"]}}`)
	d := g.Decide(relevance.Input{Mode: "M"})
	if diff := cmp.Diff([]string{"b", "c"}, d.Trace.DepsAdded); diff != "" || !d.Includes("c") {
		t.Errorf("dependencies (-want +have):\n%s", diff)
	}
}

func TestSafety(t *testing.T) {
	t.Parallel()
	g := gate(t, "")
	d := g.Decide(relevance.Input{Mode: "ACT", ReturningFromSilence: true})
	if !d.Includes("identity_context") || !slices.Contains(d.Trace.OverridesApplied, "safety") {
		t.Errorf("returning from silence: %+v", d.Trace)
	}
	d = g.Decide(relevance.Input{Mode: "ACKNOWLEDGE", Signals: signals{"working_memory_turns": 1}})
	if !d.Includes("working_memory") {
		t.Errorf("a turn in a conversation: %+v", d.Trace)
	}
	forced := gate(t, `{"nodes":{"a":{},"b":{}},"template_masks":{"M":{"a":false,"b":false}},"dependencies":{"a":["b"]},"safety_overrides":{"a":[{"when":{"x":1}}]}}`)
	if d := forced.Decide(relevance.Input{Mode: "M", Signals: signals{"x": 1}}); !d.Includes("b") {
		t.Errorf("a forced node without what it needs: %+v", d.Trace)
	}
}

func TestSafeguard(t *testing.T) {
	t.Parallel()
	g := gate(t, `{"template_masks":{"M":{}},"max_included_nodes":3}`)
	d := g.Decide(relevance.Input{Mode: "M"})
	if len(d.Trace.Warnings) != 1 || d.Trace.TotalIncluded != 17 || d.Trace.EstTokens == 0 {
		t.Errorf("trace %+v", d.Trace)
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("relevance", "decision", d)
	for _, field := range []string{"mode", "excluded_hard", "excluded_soft", "recovered_soft", "deps_added", "overrides_applied", "total_included", "est_tokens"} {
		if !strings.Contains(out.String(), `"`+field+`"`) {
			t.Errorf("the log entry has no %s: %s", field, out.String())
		}
	}
}

func TestIncludeEverything(t *testing.T) {
	t.Parallel()
	unknown := gate(t, "").Decide(relevance.Input{Mode: "DREAM"})
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("relevance", "decision", unknown)
	if strings.Contains(out.String(), "DREAM") || !strings.Contains(out.String(), `"mode":"unknown"`) {
		t.Errorf("a caller's text is in the log: %s", out.String())
	}
	if want := []string{"the mode is unknown: everything is included", "17 nodes are included, more than the limit of 12"}; unknown.Trace.TotalIncluded != 17 || !slices.Equal(unknown.Trace.Warnings, want) {
		t.Errorf("an unknown mode: %+v", unknown.Trace)
	}
	off := gate(t, `{"enabled":false,"template_masks":{"M":{"facts":false}}}`).Decide(relevance.Input{Mode: "M"})
	if !off.Includes("facts") || len(off.Trace.Warnings) != 0 {
		t.Errorf("disabled: %+v", off.Trace)
	}
	var zero relevance.Decision
	if !zero.Includes("facts") || !zero.NeedsKind(schemas.KindTool) || !zero.NeedsRetriever("recency") || !zero.Wants(&schemas.Facets{}) {
		t.Error("the zero decision leaves something out")
	}
	if all := gate(t, "").All(); all.Trace.TotalIncluded != 17 || len(all.Trace.Warnings) != 0 || len(all.Kinds()) != 8 {
		t.Errorf("all: %+v", all.Trace)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if g, err := relevance.Load(write("good.json", `{"template_masks":{"M":{"facts":false}}}`)); err != nil || len(g.Nodes()) != 17 {
		t.Errorf("a good file: %v", err)
	}
	for name, text := range map[string]string{
		"syntax":   `{"template_masks":`,
		"field":    `{"template_mask":{}}`,
		"tail":     `{} {}`,
		"cycle":    `{"nodes":{"a":{},"b":{},"c":{}},"dependencies":{"a":["b"],"b":["c"],"c":["a"]}}`,
		"self":     `{"dependencies":{"facts":["facts"]}}`,
		"strength": `{"signal_rules":{"facts":[{"when":{"x":1},"strength":"firm"}]}}`,
		"empty":    `{"signal_rules":{"facts":[{"when":{},"strength":"soft"}]}}`,
		"number":   `{"safety_overrides":{"facts":[{"when":{"x_gte":"1"}}]}}`,
		"value":    `{"safety_overrides":{"facts":[{"when":{"x":[1]}}]}}`,
		"node":     `{"nodes":{"a b":{}}}`,
		"mode":     `{"template_masks":{"A B":{}}}`,
		"kind":     `{"nodes":{"a":{"items":[{"kind":"memo"}]}}}`,
		"selector": `{"nodes":{"a":{"items":[{}]}}}`,
		"tokens":   `{"nodes":{"a":{"est_tokens":-1}}}`,
		"budget":   `{"soft_recovery_budget":-1}`,
		"most":     `{"max_included_nodes":-1}`,
		"type":     `{"signals":{"a":{"type":"date"}}}`,
		"signal":   `{"signals":{"a b":{"type":"text"}}}`,
		"silence":  `{"signals":{"returning_from_silence":{"type":"boolean"}}}`,
		"bounds":   `{"signals":{"a":{"type":"number","min":2,"max":1}}}`,
		"bounded":  `{"signals":{"a":{"type":"text","min":2}}}`,
	} {
		g, err := relevance.Load(write(name+".json", text))
		if !errors.Is(err, relevance.ErrConfig) {
			t.Errorf("%s: error %v", name, err)
		}
		if name == "cycle" && !strings.Contains(err.Error(), "a → b → c → a") {
			t.Errorf("the circle is not named: %v", err)
		}
		everything(t, name, g)
	}
	g, err := relevance.Load(filepath.Join(dir, "none.json"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	everything(t, "a missing file", g)
}

// A name that is no node's is refused wherever it stands, with the place and the node that
// is meant; declaring it makes it one.
func TestNodesThatAreNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"template_masks":{"RESPOND":{"fact":false}}}`:                                     `template_masks.RESPOND: node "fact" is neither built in nor declared in nodes: is it facts?`,
		`{"signal_rules":{"fact":[{"when":{"x":1},"strength":"hard"}]}}`:                    `signal_rules: node "fact" is`,
		`{"dependencies":{"fact":["gists"]}}`:                                               `dependencies: node "fact" is`,
		`{"dependencies":{"facts":["gist"]}}`:                                               `dependencies.facts: node "gist" is neither built in nor declared in nodes: is it gists?`,
		`{"urgency_overrides":["worldState"]}`:                                              `urgency_overrides: node "worldState" is neither built in nor declared in nodes: is it world_state?`,
		`{"safety_overrides":{"zzzzzzz":[{"when":{"x":1}}]}}`:                               `safety_overrides: node "zzzzzzz" is neither built in nor declared in nodes`,
		`{"soft_recovery_priority":["facts","runbook"],"nodes":{"runbooks":{}}}`:            `soft_recovery_priority: node "runbook" is neither built in nor declared in nodes: is it runbooks?`,
		`{"enabled":false,"template_masks":{"M":{"facts":true,"a":true}},"nodes":{"b":{}}}`: `template_masks.M: node "a" is`,
	} {
		c, err := relevance.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = relevance.New(c); !errors.Is(err, relevance.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
	gate(t, `{"template_masks":{"RESPOND":{"fact":false}},"nodes":{"fact":{}}}`)
}

// everything holds that a gate without a configuration names and includes all nodes of
// the built-in one: who reads the map, and leaves out what it does not name, has them.
func everything(t *testing.T, name string, g *relevance.Gate) {
	t.Helper()
	nodes := gate(t, "").Nodes()
	d := g.Decide(relevance.Input{Mode: "ACKNOWLEDGE", Signals: signals{"foo": 1}})
	inclusion := d.Inclusion()
	for _, node := range nodes {
		if !inclusion[node] || !d.Includes(node) {
			t.Errorf("%s: %s is not included", name, node)
		}
	}
	if !slices.Equal(nodes, d.Trace.Included) || d.Trace.TotalIncluded != len(nodes) || len(inclusion) != len(nodes) {
		t.Errorf("%s: %+v", name, d.Trace)
	}
	if len(d.Trace.Warnings) != 1 || !strings.Contains(d.Trace.Warnings[0], "everything is included") {
		t.Errorf("%s: warnings %q", name, d.Trace.Warnings)
	}
	if len(d.Kinds()) != 8 || !d.NeedsRetriever("tool-rag") {
		t.Errorf("%s leaves out kinds or retrievers", name)
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	g := gate(t, "")
	d := g.Decide(relevance.Input{Mode: "ACKNOWLEDGE"})
	if kinds := d.Kinds(); len(kinds) > 0 {
		t.Errorf("ACKNOWLEDGE searches %v", kinds)
	}
	for section, want := range map[schemas.SectionType]bool{schemas.SectionTools: false, schemas.SectionKnowledge: false,
		schemas.SectionMemory: true, schemas.SectionUser: true, schemas.SectionPolicy: true} {
		if d.NeedsSection(section) != want {
			t.Errorf("section %s needed: %v", section, !want)
		}
	}
	for name, want := range map[string]bool{"recency": false, "tool-rag": false, "keyword": true} {
		if d.NeedsRetriever(name) != want {
			t.Errorf("retriever %s needed: %v", name, !want)
		}
	}
	for _, c := range []struct {
		f    schemas.Facets
		want bool
	}{
		{schemas.Facets{Kind: schemas.KindMemory, Type: schemas.Episodic}, false},
		{schemas.Facets{Kind: schemas.KindMemory, Type: schemas.Episodic, Category: "preference"}, true},
		{schemas.Facets{Kind: schemas.KindTool, Type: schemas.Procedural}, false},
		{schemas.Facets{Kind: "other"}, true},
	} {
		if d.Wants(&c.f) != c.want {
			t.Errorf("%+v wanted: %v", c.f, !c.want)
		}
	}
	if d := g.Decide(relevance.Input{Mode: "ACT"}); !d.NeedsKind(schemas.KindTool) || !d.NeedsRetriever("tool-rag") {
		t.Errorf("ACT without tools: %+v", d.Trace)
	}
}

// TestInvariants draws turns: the same turn gives the same decision, what an included
// node needs is included, and hard exclusions return by force or need alone.
func TestInvariants(t *testing.T) {
	t.Parallel()
	g := gate(t, "")
	config, err := relevance.DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		in := relevance.Input{
			Mode: rapid.SampledFrom([]string{"RESPOND", "CLARIFY", "ACKNOWLEDGE", "ACT", "?"}).Draw(t, "mode"),
			Signals: signals{"context_warmth": rapid.Float64Range(0, 1).Draw(t, "warmth"), "working_memory_turns": rapid.IntRange(0, 4).Draw(t, "turns"),
				"greeting_pattern": rapid.Bool().Draw(t, "greeting"), "prompt_token_count": rapid.IntRange(1, 12).Draw(t, "tokens")},
			Classification:       signals{"urgency": rapid.SampledFrom([]any{"high", "low", 3}).Draw(t, "urgency")},
			ReturningFromSilence: rapid.Bool().Draw(t, "silence"), TokenBudgetRemaining: rapid.IntRange(0, 4000).Draw(t, "budget"),
		}
		d := g.Decide(in)
		if diff := cmp.Diff(d.Trace, g.Decide(in).Trace); diff != "" {
			t.Fatalf("two decisions:\n%s", diff)
		}
		inclusion := d.Inclusion()
		for node, needs := range config.Dependencies {
			for _, need := range needs {
				if inclusion[node] && !inclusion[need] {
					t.Fatalf("%s without %s", node, need)
				}
			}
		}
		for _, node := range d.Trace.ExcludedHard {
			if inclusion[node] && !slices.Contains(d.Trace.DepsAdded, node) && len(d.Trace.OverridesApplied) == 0 {
				t.Fatalf("%s is back for no reason: %+v", node, d.Trace)
			}
		}
		if !slices.IsSorted(d.Trace.Included) || len(d.Trace.Included) != d.Trace.TotalIncluded {
			t.Fatalf("trace %+v", d.Trace)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"nodes":{"a":{},"b":{}},"template_masks":{"M":{"a":false}},"dependencies":{"a":["b"]},"signal_rules":{"a":[{"when":{"x_gte":1},"strength":"soft"}]}}`), "M")
	f.Fuzz(func(t *testing.T, data []byte, mode string) {
		c, err := relevance.Parse(data)
		if err != nil {
			return
		}
		g, err := relevance.New(c)
		if err != nil {
			if !errors.Is(err, relevance.ErrConfig) {
				t.Fatal(err)
			}
			return
		}
		d := g.Decide(relevance.Input{Mode: mode, Signals: signals{"x": 1}, TokenBudgetRemaining: 5000})
		if d.Trace.TotalIncluded != len(d.Trace.Included) {
			t.Fatalf("trace %+v", d.Trace)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	g := gate(b, "")
	in := relevance.Input{Mode: "RESPOND", TokenBudgetRemaining: 4000, Classification: signals{"urgency": "high"},
		Signals: signals{"context_warmth": 0.7, "working_memory_turns": 3, "greeting_pattern": true, "prompt_token_count": 3}}
	for b.Loop() {
		if d := g.Decide(in); d.Trace.TotalIncluded == 0 {
			b.Fatal("nothing is included")
		}
	}
}

// What is not searched comes by category, and nothing without a category is wanted of it.
func TestGiven(t *testing.T) {
	t.Parallel()
	g := gate(t, "")
	turns := func(d relevance.Decision) (n int) {
		for _, given := range d.Given() {
			n += given.Turns
		}
		return n
	}
	d := g.Decide(relevance.Input{Mode: "ACKNOWLEDGE"})
	want := []relevance.Given{
		{Node: "client_context", Items: []relevance.Selector{{Kind: "memory", Category: "client"}}, Tokens: 80},
		{Node: "communication_style", Items: []relevance.Selector{{Kind: "memory", Category: "communication_style"}}, Tokens: 80},
		{Node: "identity_context", Items: []relevance.Selector{{Kind: "memory", Category: "identity"}}, Tokens: 150},
		{Node: "identity_modulation", Items: []relevance.Selector{{Kind: "memory", Category: "identity_modulation"}}, Tokens: 60},
		{Node: "onboarding_nudge", Items: []relevance.Selector{{Kind: "memory", Category: "onboarding"}}, Tokens: 60},
		{Node: "user_traits", Items: []relevance.Selector{{Kind: "memory", Category: "user_trait"}, {Kind: "memory", Category: "preference"}}, Tokens: 150},
		{Node: "warm_return_hint", Items: []relevance.Selector{{Kind: "memory", Category: "return_hint"}}, Tokens: 40},
	}
	for i := range want { // a signal that is absent excludes nothing here but what returning excludes
		if want[i].Node == "warm_return_hint" && !d.Includes("warm_return_hint") {
			want = append(want[:i], want[i+1:]...)
		}
	}
	if diff := cmp.Diff(want, d.Given()); diff != "" {
		t.Errorf("given to ACKNOWLEDGE (-want +have):\n%s", diff)
	}
	d = g.Decide(relevance.Input{Mode: "ACKNOWLEDGE", Signals: map[string]any{"working_memory_turns": 2}})
	if turns(d) != 8 {
		t.Errorf("ACKNOWLEDGE in a session gives %d turns", turns(d))
	}
	var all relevance.Decision
	if diff := cmp.Diff([]relevance.Given{{Turns: relevance.DefaultTurns, Tokens: relevance.DefaultTurnTokens}}, all.Given()); diff != "" {
		t.Errorf("given without relevance (-want +have):\n%s", diff)
	}
	d = g.Decide(relevance.Input{Mode: "CLARIFY"})
	for category, want := range map[string]bool{"list": false, "identity": true, "": true, "else": true} {
		if d.Wants(&schemas.Facets{Kind: schemas.KindMemory, Type: schemas.Episodic, Category: category}) != want {
			t.Errorf("CLARIFY wants episodic memories of category %q: %t", category, !want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := g.Decide(relevance.Input{Mode: rapid.SampledFrom([]string{"RESPOND", "CLARIFY", "ACKNOWLEDGE", "ACT", "OTHER"}).Draw(t, "mode"),
			Signals: map[string]any{"greeting_pattern": rapid.Bool().Draw(t, "greeting"), "prompt_token_count": 3.0, "onboarding_complete": rapid.Bool().Draw(t, "onboarded")}})
		f := &schemas.Facets{
			Kind: rapid.SampledFrom([]schemas.Kind{schemas.KindMemory, schemas.KindSummary, schemas.KindTool, schemas.KindCode, schemas.KindValue}).Draw(t, "kind"),
			Type: rapid.SampledFrom([]schemas.MemoryType{schemas.Episodic, schemas.Procedural, schemas.Semantic}).Draw(t, "type"),
		}
		if d.Wants(f) && !slices.Contains(d.Kinds(), f.Kind) {
			t.Fatalf("%+v is wanted, searched are %v", f, d.Kinds())
		}
	})
}

func TestMeasured(t *testing.T) {
	t.Parallel()
	g := gate(t, "")
	for text, greeting := range map[string]bool{
		"Hey!": true, "Hello there": true, "good morning, Ada": true, "Thank you so very much": true, "Guten Abend": true,
		"Hey, how are you?": true, "Hello Ada, how's it going": true, "Hey, how are you paid?": false, "How are you connected to the pump?": false,
		"Hi, database down!": false, "Hey delete invoice": false, "Thanks, cancel it": false, "hey deploy now": false, "Hi, my password": false,
		"Thanks but why": false, "Good day rates?": false, "Bye order shipped?": false, "Hi Cancel!": false, "hello world": false, "Danke, Kündigung!": false,
		"Moin, Serverausfall": false, "Hi, 4711?": false, "Thank you cancel the order": false, "Hola, factura pagada": false, "你好，数据库坏了": false, "Привет, база упала": false,
		"Hi, chase it": false, "Hey May release?": false, "thanks for the rollback": false, "Merci de relancer": false, "Hi\nfix it": false,
		"Hi Anna Weber!": true, "Guten Morgen, Frau Weber": true, "hi ada": true, "Thanks, Bill!": true, "Hi there, good morning everyone": true, "Thanks a lot for your help, Jonas!": true,
		"Hola": true, "Bonjour": true, "Привет": true, "你好": true, "こんにちは": true, "Ciao": true, "Olá": true, "Merci beaucoup": true, "谢谢": true, "Grüß dich": true,
		"Buenos días, ¿cómo estás?": true, "Ciao Maria, come stai?": true, "Dank je wel!": true, "Dzień dobry": true, "Спасибо большое!": true, "안녕하세요": true, "Merhaba": true, "नमस्ते": true,
		"HELLO!!! 👋": true, "Hi, how’s it going?": true, "Bonjour à tous": true, "おはようございます！": true, "Muito obrigada": true,
		"Hey, who painted the mural?": false, "good sources on pumps": false, "hi there what is new today": false, "ok": false, "yes": false, "": false, "!!": false,
	} {
		in := relevance.Input{Mode: "RESPOND"}.Measured(relevance.Turn{Text: text, Tokens: 2})
		if in.Signals["greeting_pattern"] != greeting || len(in.Signals) != 2 {
			t.Errorf("%q: %v", text, in.Signals)
		}
		if d := g.Decide(in); slices.Contains(d.Trace.ExcludedHard, "episodic_memory") != greeting || len(d.Trace.Warnings) > 0 {
			t.Errorf("%q: %+v", text, d.Trace)
		}
	}
	turn := relevance.Turn{Text: "go on", Tokens: 2, Session: true, Turns: 4, Silence: time.Hour}
	got := relevance.Input{Signals: map[string]any{"prompt_token_count": 99}}.Measured(turn).Signals
	want := map[string]any{"prompt_token_count": 99, "greeting_pattern": false, "working_memory_turns": 4, "context_warmth": .5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	if got := (relevance.Input{}).Measured(relevance.Turn{Session: true}).Signals["context_warmth"]; got != 0.0 {
		t.Errorf("an empty session is %v warm", got)
	}
}
