package doctor

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
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
		set  config.Settings
		want map[string]float64 // of the profile
		err  string
	}{
		"defaults":       {config.Settings{Profile: "default"}, map[string]float64{"relevance": 1}, ""},
		"a part":         {config.Settings{Profile: "default", WeightRecency: "0.25"}, map[string]float64{"relevance": .75, "recency": .25}, ""},
		"of the seed":    {config.Settings{Profile: "seed", WeightRecency: "0.4"}, map[string]float64{"recency": .4, "importance": .16}, ""},
		"a file":         {config.Settings{Profile: "support", Profiles: file(support)}, map[string]float64{"recency": .4, "importance": .16}, ""},
		"too much":       {config.Settings{Profile: "seed", WeightRecency: "0.8", WeightTrust: "0.4"}, nil, "H4R_WEIGHT_*: the weights given sum to 1.2"},
		"no number":      {config.Settings{Profile: "seed", WeightRecency: "much"}, nil, `H4R_WEIGHT_RECENCY "much"`},
		"no profile":     {config.Settings{Profile: "nosuch"}, nil, "H4R_PROFILE"},
		"no file":        {config.Settings{Profile: "seed", Profiles: "/nosuch"}, nil, "read ranking profiles"},
		"unknown key":    {config.Settings{Profile: "seed", Profiles: file("profiles: {a: {wieghts: {}}}")}, nil, "wieghts"},
		"unknown base":   {config.Settings{Profile: "seed", Profiles: file("profiles: {a: {base: b}}")}, nil, `base "b"`},
		"unknown signal": {config.Settings{Profile: "seed", Profiles: file("profiles: {a: {weights: {x: 1}}}")}, nil, `"x"`},
		"a ranker":       {config.Settings{Profile: "default", Profiles: file("rankers: {recent-only: {recency: 1}}")}, map[string]float64{"relevance": 1}, ""},
		"half a ranker":  {config.Settings{Profile: "default", Profiles: file("rankers: {half: {recency: 0.5}}")}, nil, `ranker "half"`},
		"unknown tenant": {config.Settings{Profile: "seed", Profiles: file("tenants: {acme: nosuch}")}, nil, `tenant "acme"`},
	} {
		a := &app.App{Settings: &tc.set}
		r, err := a.Rankings()
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: error is %v, want one with %q", name, err, tc.err)
			}
			if f := checkRanking(a); f.OK {
				t.Errorf("%s: doctor finds nothing: %+v", name, f)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "a ranker" && (len(r.Rankers) != 1 || r.Rankers[0].Name != "recent-only" || r.Rankers[0].Recency != 1) {
			t.Errorf("%s: %+v", name, r.Rankers)
		}
		for _, p := range r.Profiles {
			if p.Name != tc.set.Profile {
				continue
			}
			for signal, w := range tc.want {
				if got := p.Weights()[signal]; math.Abs(got-w) > 1e-9 {
					t.Errorf("%s: %s weighs %v, want %v", name, signal, got, w)
				}
			}
			if name == "a file" && (p.Lambda != .05 || r.Tenants["acme"] != "support") {
				t.Errorf("%s: decay %v, tenants %v", name, p.Lambda, r.Tenants)
			}
		}
	}
	for name, f := range map[string]app.Finding{
		"high score": checkRanking((&app.App{Settings: &config.Settings{Profile: "default", MinScore: .95}})),
		"few tokens": checkBudgets((&app.App{Settings: &config.Settings{MaxTokens: 20}})),
		"no cache":   checkDecisionCache((&app.App{Settings: &config.Settings{OPAURL: "http://127.0.0.1:8181"}})),
	} {
		if f.OK {
			t.Errorf("%s: doctor finds nothing: %+v", name, f)
		}
	}
}
