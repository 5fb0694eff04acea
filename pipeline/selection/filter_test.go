package selection_test

import (
	"errors"
	"strings"
	"testing"

	"satchel/pipeline/selection"
	"satchel/schemas"
)

// A filter that nothing can pass is refused, and the error names it.
func TestFiltersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		field string
		value any
		says  string
	}{
		"operator":          {"trust", map[string]any{"above": 1.0}, "above"},
		"in without a list": {"kind", map[string]any{"in": "memory"}, "needs a list"},
		"a text as a date":  {"created_at", map[string]any{"gte": "last Tuesday"}, "a date"},
		"a number as text":  {"category", 7.0, "want a text"},
		"a text as number":  {"trust", map[string]any{"gte": "high"}, "want a number"},
		"upside down":       {"created_at", map[string]any{"gte": "2026-03-01", "lt": "2026-02-01"}, "upside down"},
		"an empty range":    {"importance", map[string]any{"gt": .5, "lte": .5}, "upside down"},
		"mixed times":       {"valid_from", map[string]any{"gte": "2026-03-01", "lt": "2026-02-01T00:00:00Z"}, "upside down"},
		"a letter missing":  {"catgory", "x", `"category"`},
		"a letter other":    {"sesion", "x", `"session"`},
		"swapped":           {"knid", "memory", `"kind"`},
		"camel case":        {"createdAt", "2026-01-31", `"created_at"`},
		"another":           {"accessCount", 3.0, `"access_count"`},
		"hyphens":           {"Source-URI", "x", `"source_uri"`},
		"a short one":       {"Org", "x", `"org"`},
		"an id":             {"session_id", "x", `"session"`},
		"an Id":             {"sessionId", map[string]any{"in": []any{"x"}}, `"session"`},
		"an id of another":  {"org_id", "x", `"org"`},
		"no kind":           {"kind", "memori", "memory, summary"},
		"no kind in a list": {"kind", []any{"memory", "memori"}, "memory, summary"},
		"no level":          {"level", map[string]any{"eq": "secret"}, "public, internal, confidential, restricted"},
		"no type":           {"type", map[string]any{"in": []any{"episodes"}}, "episodic, procedural, semantic"},
		"a slash":           {"speakr", map[string]any{"eq": "a/b"}, `"speaker"`},
	} {
		_, _, err := selection.Filters(map[string]any{tc.field: tc.value})
		var e *schemas.Error
		if !errors.As(err, &e) || e.Code != schemas.CodeValidation || e.Field != "/payload/query/filters/"+tc.field || !strings.Contains(e.Message, tc.says) {
			t.Errorf("%s: error is %v, want one of %s with %q", name, err, tc.field, tc.says)
		}
	}
	for _, fine := range []map[string]any{
		{"test_type": "e2e", "status": "failed"}, {"attributes.catgory": "x"}, {"deep.kind": 3.0}, {"created_at": "2026-01-31"},
		{"created_at": map[string]any{"gte": "2026-01-31", "lt": "2026-02-01T00:00:00+01:00"}}, {"env": "x"}, {"trust": map[string]any{"gte": .2, "lte": .2}},
		{"groups": []any{"ops", "dev"}}, {"attributes.session_id": "x", "attributes.createdAt": "x", "request_id": "x", "valid": true, "idea": "x", "orgId2": "x"},
		{"kind": []any{"memory", "tool"}, "type": map[string]any{"in": []any{"semantic"}}, "level": "internal"}, {"kind": map[string]any{"gte": "m"}}, {"type": []any{}},
	} {
		if _, _, err := selection.Filters(fine); err != nil {
			t.Errorf("%v: %v", fine, err)
		}
	}
	for _, field := range selection.Fields() {
		if _, _, err := selection.Filters(map[string]any{field: nil}); err == nil {
			t.Errorf("%s takes null", field)
		}
	}
}
