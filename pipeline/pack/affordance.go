package pack

import (
	"bytes"

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
	buf := make([]byte, 0, evidenceBytes)
	for _, i := range shown {
		c := &cs[i]
		best = max(best, c.Score)
		buf = appendLower(buf[:0], c.Record.Content.Text())
		text := lowered(buf)
		id := c.Record.ID
		if text.has("test") && text.has("fail", "broke") {
			failures = append(failures, id)
		}
		if text.has("selector", "element not found", "not found in dom") {
			selectors = append(selectors, id)
		}
		if text.has("flaky", "intermittent") {
			flaky = append(flaky, id)
		}
		if text.has("critical", "data loss", "security breach", "outage", "production down", "emergency") {
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

// lowered is lower-case text.
type lowered []byte

// has reports whether the text holds any of the phrases.
func (l lowered) has(phrases ...string) bool {
	for _, p := range phrases {
		if bytes.Contains(l, []byte(p)) {
			return true
		}
	}
	return false
}

// appendLower appends the beginning of text with its ASCII letters in lower case.
func appendLower(dst []byte, text string) []byte {
	for i := 0; i < min(len(text), evidenceBytes); i++ {
		b := text[i]
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		dst = append(dst, b)
	}
	return dst
}
