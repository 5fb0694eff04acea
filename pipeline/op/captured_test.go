package op_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"satchel/schemas"
)

// The request and the result as the design document has them.
const (
	capturedRequest = `{
  "meta": {"type": "ContextRequest", "from": {"type": "specialist", "id": "playwright_healer", "securityLevel": "internal"}},
  "payload": {
    "query": {"type": "semantic", "text": "login test failures with selector issues", "filters": {"test_type": "e2e", "status": "failed"}},
    "limit": 10,
    "include_scores": true
  }
}`
	capturedResult = `{
  "meta": {"type": "ContextResult", "reply_to": "original_message_id"},
  "payload": {
    "results": [{"id": "mem-001", "content": {"title": "login"}, "score": 0.85, "metadata": {"source": "postgres", "redacted": false, "byteSize": 1024}}],
    "total_count": 42,
    "query_duration_ms": 185,
    "sources": ["postgres"],
    "explainability": {
      "tldr": {"summary": "Test login-spec-001 failed.", "citations": ["mem-001", "mem-005"]},
      "affordances": [{"type": "suggest_fix", "description": "Selector-related issues detected", "confidence": 0.85,
        "parameters": {"affectedTests": 1, "suggestedStrategy": "data-testid"}}],
      "causalGraph": null,
      "slicing": {"totalRedacted": 5, "totalDroppedBudget": 2, "budgetUsed": {"bytes": 98000, "estimatedTokens": 24500, "items": 10}},
      "timings": {"retrievalMs": 150, "slicingMs": 20, "summarizationMs": 15, "totalMs": 185},
      "warnings": []
    }
  }
}`
)

// parsed decodes JSON for comparison.
func parsed(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	must(t, json.Unmarshal(raw, &v))
	return v
}

// holds reports where got lacks a member of want, has another type, or, with values,
// another value. Of a list one element must hold what the wanted first does.
func holds(at string, want, got any, values bool) string {
	if want == nil {
		return ""
	}
	if reflect.TypeOf(want) != reflect.TypeOf(got) {
		return fmt.Sprintf("%s is %T, want %T", at, got, want)
	}
	switch want := want.(type) {
	case map[string]any:
		for name, v := range want {
			member, there := got.(map[string]any)[name]
			if !there {
				return at + "/" + name + " is missing"
			}
			if problem := holds(at+"/"+name, v, member, values); problem != "" {
				return problem
			}
		}
	case []any:
		if len(want) == 0 {
			return ""
		}
		if len(got.([]any)) == 0 {
			return at + " is empty"
		}
		problem := ""
		for i, element := range got.([]any) {
			if problem = holds(fmt.Sprintf("%s/%d", at, i), want[0], element, values); problem == "" {
				break
			}
		}
		return problem
	default:
		if values && !cmp.Equal(want, got) {
			return fmt.Sprintf("%s is %v, want %v", at, got, want)
		}
	}
	return ""
}

// TestCapturedExample sends the document's request as it is, and holds the reply to
// every field of the document's result; both go through our types and come out whole.
func TestCapturedExample(t *testing.T) {
	t.Parallel()
	var req schemas.ContextRequest
	must(t, json.Unmarshal([]byte(capturedRequest), &req))
	again, err := json.Marshal(req)
	must(t, err)
	if problem := holds("", parsed(t, []byte(capturedRequest)), parsed(t, again), true); problem != "" {
		t.Errorf("request: %s", problem)
	}
	var res schemas.ContextResult
	must(t, json.Unmarshal([]byte(capturedResult), &res))
	again, err = json.Marshal(res)
	must(t, err)
	if problem := holds("", parsed(t, []byte(capturedResult)), parsed(t, again), true); problem != "" {
		t.Errorf("result: %s", problem)
	}

	w := openWorld(t, nil)
	failed := func(id, status, content string) schemas.MemoryItem {
		m := memory(id, "level:internal", "", content)
		m.Attributes = json.RawMessage(`{"test_type":"e2e","status":"` + status + `"}`)
		return m
	}
	structured := failed("mem-001", "failed", "")
	must(t, structured.Content.UnmarshalJSON([]byte(`{"title":"login test failures","cause":"selector #login-button not found"}`)))
	w.put(t, "acme", structured,
		failed("mem-005", "failed", "The login test failed again: its selector points at a button that was renamed."),
		failed("mem-006", "passed", "The login test with the new selector passed."))
	req.Meta.ID = "original_message_id"
	got, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), req)
	must(t, err)
	raw, err := json.Marshal(got)
	must(t, err)
	if problem := holds("", parsed(t, []byte(capturedResult)), parsed(t, raw), false); problem != "" {
		t.Errorf("reply: %s\n%s", problem, raw)
	}
	p := &got.Payload
	if got.Meta.ReplyTo != "original_message_id" || len(p.Results) != 2 || p.Explainability.CausalGraph != nil {
		t.Errorf("reply to %q with %d results, want the two that failed:\n%s", got.Meta.ReplyTo, len(p.Results), raw)
	}
	for _, r := range p.Results {
		if r.Score == nil || r.ID == "mem-006" || r.Metadata.ByteSize == 0 {
			t.Errorf("result %+v", r)
		}
	}
}
