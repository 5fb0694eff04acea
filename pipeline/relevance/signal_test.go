package relevance_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/relevance"
)

func TestSignalsThatAreWrong(t *testing.T) {
	t.Parallel()
	g := gate(t, "")
	for name, c := range map[string]struct {
		signals signals
		want    []string
	}{
		"none":    {nil, nil},
		"good":    {signals{"context_warmth": .7, "working_memory_turns": 3, "greeting_pattern": true, "prompt_token_count": json.Number("2"), "onboarding_complete": false}, nil},
		"bounds":  {signals{"context_warmth": 0, "working_memory_turns": 0}, nil},
		"unknown": {signals{"foo": 1}, []string{`signal "foo" is unknown to the configuration, which has context_warmth, greeting_pattern, onboarding_complete, prompt_token_count, working_memory_turns`}},
		"near":    {signals{"contextWarmht": .5}, []string{`signal "contextWarmht" is unknown to the configuration: is it context_warmth?`}},
		"part":    {signals{"greeting": true}, []string{`signal "greeting" is unknown to the configuration: is it greeting_pattern?`}},
		"type":    {signals{"context_warmth": "abc"}, []string{`signal "context_warmth" is a text, want a number: no rule heeds it`}},
		"boolean": {signals{"greeting_pattern": 1}, []string{`signal "greeting_pattern" is a number, want true or false: no rule heeds it`}},
		"nothing": {signals{"greeting_pattern": nil}, []string{`signal "greeting_pattern" is neither a number nor true or false nor a text, want true or false: no rule heeds it`}},
		"range":   {signals{"context_warmth": 5, "working_memory_turns": -1}, []string{`signal "context_warmth" is out of range: 0 to 1`, `signal "working_memory_turns" is out of range: at least 0`}},
		"NaN":     {signals{"context_warmth": math.NaN()}, []string{`signal "context_warmth" is out of range: 0 to 1`}},
		"field":   {signals{"returning_from_silence": true}, []string{`signal "returning_from_silence" is ignored: it is a field of the request, not a signal`}},
		"hostile": {signals{strings.Repeat("\n", 99): 1}, []string{`signal "` + strings.Repeat(`\n`, 64) + `" is unknown to the configuration, which has context_warmth, greeting_pattern, onboarding_complete, prompt_token_count, working_memory_turns`}},
	} {
		for _, mode := range []string{"CLARIFY", "DREAM"} {
			d := g.Decide(relevance.Input{Mode: mode, Signals: c.signals})
			warnings := slices.DeleteFunc(d.Trace.Warnings, func(w string) bool { return strings.HasSuffix(w, "included") || strings.Contains(w, "the limit of") })
			if diff := cmp.Diff(c.want, slices.Clip(warnings)); diff != "" && len(c.want)+len(warnings) > 0 {
				t.Errorf("%s, mode %s (-want +have):\n%s", name, mode, diff)
			}
		}
	}
}

func TestManyWrongSignals(t *testing.T) {
	t.Parallel()
	many := signals{}
	for i := range 1000 {
		many[fmt.Sprintf("s%04d", i)] = i
	}
	d := gate(t, "").Decide(relevance.Input{Mode: "CLARIFY", Signals: many})
	if n := len(d.Trace.Warnings); n != 9 || d.Trace.Warnings[8] != "and 992 more signals are unknown or wrong" || !strings.Contains(d.Trace.Warnings[0], "s0000") {
		t.Errorf("%d warnings: %q", n, d.Trace.Warnings)
	}
}

// Signals are what the configuration says, and what its rules compare them with.
func TestSignalsOfAConfiguration(t *testing.T) {
	t.Parallel()
	g := gate(t, `{"template_masks":{"M":{}},"max_included_nodes":20,"signals":{"tone":{"type":"text"},"heat":{"type":"number","max":9}},
		"signal_rules":{"facts":[{"when":{"mood_gte":1},"strength":"soft"},{"when":{"context_warmth_gte":50},"strength":"soft"},{"when":{"heat":"high"},"strength":"soft"}]}}`)
	for _, c := range []struct {
		name  string
		value any
		good  bool
	}{{"tone", "dry", true}, {"tone", 1, false}, {"heat", 9, true}, {"heat", 10, false}, {"heat", "high", true}, {"mood", -7, true}, {"mood", true, false},
		{"context_warmth", 80, true}, {"greeting_pattern", true, true}, {"greeting_pattern", "yes", false}} {
		d := g.Decide(relevance.Input{Mode: "M", Signals: signals{c.name: c.value}})
		if good := len(d.Trace.Warnings) == 0; good != c.good {
			t.Errorf("%s=%v: %q", c.name, c.value, d.Trace.Warnings)
		}
	}
}

// A decision on good signals costs no allocation more than one on none.
func TestSignalsCostNothing(t *testing.T) {
	g := gate(t, "")
	cost := func(s signals) float64 {
		in := relevance.Input{Mode: "CLARIFY", Signals: s}
		return testing.AllocsPerRun(100, func() { g.Decide(in) })
	}
	if none, good := cost(nil), cost(signals{"context_warmth": .2, "working_memory_turns": 0, "greeting_pattern": false, "prompt_token_count": 40}); good > none {
		t.Errorf("%g allocations, %g without signals", good, none)
	}
}

// The example of docs/reference/relevance.md is a configuration, and does what is said of it.
func TestTheExampleOfTheDocuments(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/reference/relevance.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatal("there is no example")
	}
	g := gate(t, string(m[1]))
	quiet := g.Decide(relevance.Input{Mode: "TRIAGE", Signals: signals{"severity": 2}})
	if quiet.Includes("communication_style") || quiet.Includes("runbooks") || !quiet.Includes("incidents") || len(quiet.Trace.Warnings) != 0 {
		t.Errorf("severity 2: %+v", quiet.Trace)
	}
	if d := g.Decide(relevance.Input{Mode: "TRIAGE", Signals: signals{"severity": 5}}); !d.Includes("runbooks") || !d.Includes("available_skills") {
		t.Errorf("severity 5: %+v", d.Trace)
	}
	if d := g.Decide(relevance.Input{Mode: "TRIAGE", Signals: signals{"severity": 9}}); len(d.Trace.Warnings) != 1 {
		t.Errorf("severity 9: %+v", d.Trace)
	}
	again, err := relevance.Parse(relevance.DefaultJSON())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := relevance.New(again); err != nil {
		t.Errorf("what is printed as built-in is none: %v", err)
	}
	for _, field := range strings.Fields("enabled template_masks signal_rules dependencies urgency_overrides safety_overrides soft_recovery_budget soft_recovery_priority max_included_nodes nodes signals") {
		if !strings.Contains(string(text), "- `"+field+"`") {
			t.Errorf("docs/reference/relevance.md does not say what %s is", field)
		}
	}
}
