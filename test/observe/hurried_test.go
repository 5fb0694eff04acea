package observe

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// rule is a rule as deploy/observability has it.
type rule struct {
	Record string            `yaml:"record,omitempty"`
	Alert  string            `yaml:"alert,omitempty"`
	Expr   string            `yaml:"expr"`
	For    string            `yaml:"for,omitempty"`
	Labels map[string]string `yaml:"labels,omitempty"`
}

type ruleGroup struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

// shipped returns the groups of rules in deploy/observability.
func shipped(t *testing.T) []ruleGroup {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "deploy/observability/rules/*.yml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%v (%v)", files, err)
	}
	var all []ruleGroup
	for _, name := range files {
		raw, err := os.ReadFile(name)
		must(t, err)
		var file struct {
			Groups []ruleGroup `yaml:"groups"`
		}
		must(t, yaml.Unmarshal(raw, &file))
		all = append(all, file.Groups...)
	}
	return all
}

var (
	ranges = regexp.MustCompile(`\[(\d+[smhd])\]`)
	// windows stand for the ranges of the rules. A range has to hold several samples, of which there is one a second.
	windows = map[string]string{
		"5m": "10s", "10m": "10s", "15m": "15s", "30m": "12s", "1h": "15s", "6h": "15s", "1d": "20s", "3d": "20s",
	}
	// ages are the limits that are times, at the end of an expression: what is shipped, and what stands for it.
	ages = map[string][2]string{
		"SatchelInboxStuck": {"> 60", "> 2"}, "SatchelIndexBehind": {"> 60", "> 2"}, "SatchelLedgerBehind": {"> 60", "> 2"},
		"SatchelErasureLate": {"> 600", "> 2"}, "SatchelNotWitnessed": {"> 900", "> 5"},
		"SatchelVerifyStale": {"> 93600", "> 20"}, "SatchelBackupStale": {"> 93600", "> 20"},
	}
)

// hurried are the rules as they are shipped in deploy/observability, but for their times: seconds in place of
// minutes, hours and days, so that a fault fires and falls silent within a test. Every other limit is as it is
// shipped. count is how many rules an alert has: an objective has one for each speed.
func hurried(t *testing.T) (text string, count map[string]int) {
	t.Helper()
	groups := shipped(t)
	count = map[string]int{}
	for _, g := range groups {
		for i := range g.Rules {
			r := &g.Rules[i]
			r.Expr = ranges.ReplaceAllStringFunc(r.Expr, func(s string) string {
				window := windows[s[1:len(s)-1]]
				if window == "" {
					t.Fatalf("%s%s has the range %s: add it to windows", r.Alert, r.Record, s)
				}
				return "[" + window + "]"
			})
			r.Expr = strings.ReplaceAll(r.Expr, "offset 1d", "offset "+windows["1d"])
			if age, ok := ages[r.Alert]; ok {
				less, found := strings.CutSuffix(r.Expr, age[0])
				if !found {
					t.Fatalf("%s does not end with %q: correct ages", r.Alert, age[0])
				}
				r.Expr = less + age[1]
			}
			if r.For != "" {
				r.For = "1s"
			}
			if r.Alert != "" {
				count[r.Alert]++
			}
		}
	}
	raw, err := yaml.Marshal(map[string]any{"groups": groups})
	must(t, err)
	return string(raw), count
}
