package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the settings of H4R say is what a request is ranked by; what does not hold is
// named with its setting.
func TestRankings(t *testing.T) {
	t.Parallel()
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "profiles.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const support = "profiles:\n  support: {base: seed, recency_decay_lambda: 0.05, weights: {recency: 0.4}}\ntenants: {acme: support}\n"
	for name, tc := range map[string]struct {
		set  Settings
		want map[string]float64 // of the profile
		err  string
	}{
		"defaults":       {Settings{Profile: "default"}, map[string]float64{"relevance": 1}, ""},
		"a part":         {Settings{Profile: "default", WeightRecency: "0.25"}, map[string]float64{"relevance": .75, "recency": .25}, ""},
		"of the seed":    {Settings{Profile: "seed", WeightRecency: "0.4"}, map[string]float64{"recency": .4, "importance": .16}, ""},
		"a file":         {Settings{Profile: "support", Profiles: file(support)}, map[string]float64{"recency": .4, "importance": .16}, ""},
		"too much":       {Settings{Profile: "seed", WeightRecency: "0.8", WeightTrust: "0.4"}, nil, "H4R_WEIGHT_*: the weights given sum to 1.2"},
		"no number":      {Settings{Profile: "seed", WeightRecency: "much"}, nil, `H4R_WEIGHT_RECENCY "much"`},
		"no profile":     {Settings{Profile: "nosuch"}, nil, "H4R_PROFILE"},
		"no file":        {Settings{Profile: "seed", Profiles: "/nosuch"}, nil, "read ranking profiles"},
		"unknown key":    {Settings{Profile: "seed", Profiles: file("profiles: {a: {wieghts: {}}}")}, nil, "wieghts"},
		"unknown base":   {Settings{Profile: "seed", Profiles: file("profiles: {a: {base: b}}")}, nil, `base "b"`},
		"unknown signal": {Settings{Profile: "seed", Profiles: file("profiles: {a: {weights: {x: 1}}}")}, nil, `"x"`},
		"unknown tenant": {Settings{Profile: "seed", Profiles: file("tenants: {acme: nosuch}")}, nil, `tenant "acme"`},
	} {
		a := &app{Settings: &tc.set}
		r, err := a.rankings()
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: error is %v, want one with %q", name, err, tc.err)
			}
			if f := a.checkRanking(); f.OK {
				t.Errorf("%s: doctor finds nothing: %+v", name, f)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, p := range r.profiles {
			if p.Name != tc.set.Profile {
				continue
			}
			for signal, w := range tc.want {
				if got := p.Weights()[signal]; math.Abs(got-w) > 1e-9 {
					t.Errorf("%s: %s weighs %v, want %v", name, signal, got, w)
				}
			}
			if name == "a file" && (p.Lambda != .05 || r.tenants["acme"] != "support") {
				t.Errorf("%s: decay %v, tenants %v", name, p.Lambda, r.tenants)
			}
		}
	}
	for name, f := range map[string]finding{
		"high score": (&app{Settings: &Settings{Profile: "default", MinScore: .95}}).checkRanking(),
		"few tokens": (&app{Settings: &Settings{MaxTokens: 20}}).checkBudgets(),
		"no cache":   (&app{Settings: &Settings{OPAURL: "http://127.0.0.1:8181"}}).checkDecisionCache(),
	} {
		if f.OK {
			t.Errorf("%s: doctor finds nothing: %+v", name, f)
		}
	}
}
