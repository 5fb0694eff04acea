package pack

import (
	"strings"

	"satchel/pipeline/candidate"
	"satchel/schemas"
)

// evidenceBytes is how much of an item's text the affordance rules read.
const evidenceBytes = 2048

// lowRelevance is the best score under which a pack asks for more context.
const lowRelevance = .3

// Afford suggests actions from patterns in the shown items:
//
//	several test failures  retry_with_healing    0.5 + 0.1 · failures, at most 0.95
//	selector issues        suggest_fix           0.85
//	flaky behaviour        rerun_tests           0.75
//	low relevance          request_more_context  0.6
//	critical words         escalate_to_human     0.95
//
// Each names the items that caused it.
func Afford(cs []candidate.Candidate, shown []int) []schemas.Affordance {
	var failures, selectors, flaky, critical []string
	best := 0.0
	for _, i := range shown {
		c := &cs[i]
		best = max(best, c.Score)
		text := c.Record.Content.Text()
		text = strings.ToLower(text[:min(len(text), evidenceBytes)])
		id := c.Record.ID
		test := strings.Contains(text, "test")
		if test && (strings.Contains(text, "fail") || strings.Contains(text, "broke")) {
			failures = append(failures, id)
		}
		if strings.Contains(text, "selector") || strings.Contains(text, "element not found") || strings.Contains(text, "not found in dom") {
			selectors = append(selectors, id)
		}
		if strings.Contains(text, "flaky") || strings.Contains(text, "intermittent") {
			flaky = append(flaky, id)
		}
		if hasCritical(text) {
			critical = append(critical, id)
		}
	}
	out := []schemas.Affordance{}
	add := func(kind, description string, confidence float64, items []string, parameters map[string]any) {
		out = append(out, schemas.Affordance{Type: kind, Description: description, Confidence: confidence, Items: items, Parameters: parameters})
	}
	if n := len(failures); n > 1 {
		add("retry_with_healing", "Several test failures were found; retry with healing", min(.95, .5+.1*float64(n)), failures,
			map[string]any{"failures": n})
	}
	if n := len(selectors); n > 0 {
		add("suggest_fix", "Selector-related issues were found; suggest a fix", .85, selectors,
			map[string]any{"affectedTests": n, "suggestedStrategy": "data-testid"})
	}
	if n := len(flaky); n > 0 {
		add("rerun_tests", "Flaky behaviour was found; run the tests again", .75, flaky, map[string]any{"items": n})
	}
	if best < lowRelevance {
		add("request_more_context", "Little of what was found is relevant; ask for more context", .6, nil,
			map[string]any{"bestScore": float64(int(best*1e4)) / 1e4})
	}
	if n := len(critical); n > 0 {
		add("escalate_to_human", "Critical matters were found; escalate to a human", .95, critical, map[string]any{"items": n})
	}
	return out
}

func hasCritical(text string) bool {
	for _, w := range []string{"critical", "data loss", "security breach", "outage", "production down", "emergency"} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
