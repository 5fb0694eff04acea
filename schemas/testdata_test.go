package schemas_test

// The request and the response of the context system's documentation, completed to
// valid JSON where it says "…".
const (
	exampleRequest = `{
  "meta": {
    "type": "ContextRequest",
    "from": {"type": "specialist", "id": "playwright_healer", "securityLevel": "internal"}
  },
  "payload": {
    "query": {
      "type": "semantic",
      "text": "login test failures with selector issues",
      "filters": { "test_type": "e2e", "status": "failed" }
    },
    "limit": 10,
    "include_scores": true
  }
}`
	exampleResponse = `{
  "meta": {"type": "ContextResult", "reply_to": "original_message_id"},
  "payload": {
    "results": [
      {
        "id": "mem-001",
        "content": {"test": "login-spec-001"},
        "score": 0.85,
        "metadata": {"source": "postgres", "redacted": false, "byteSize": 1024}
      }
    ],
    "total_count": 42,
    "query_duration_ms": 185,
    "sources": ["postgres"],
    "explainability": {
      "tldr": {"summary": "Test failed.", "citations": ["mem-001", "mem-005"]},
      "affordances": [{"type": "suggest_fix", "description": "Selector-related issues detected", "confidence": 0.85,
        "parameters": {"affectedTests": 1, "suggestedStrategy": "data-testid"}}],
      "causalGraph": null,
      "slicing": {
        "totalRedacted": 5,
        "totalDroppedBudget": 2,
        "budgetUsed": { "bytes": 98000, "estimatedTokens": 24500, "items": 10 }
      },
      "timings": {"retrievalMs": 150, "slicingMs": 20, "summarizationMs": 15, "totalMs": 185},
      "warnings": []
    }
  }
}`
	exampleItem = `{"id":"018f3c2a-7b1e-7c3d-9a55-3f2b1c0d9e8f","type":"episodic","kind":"memory",
 "scope":{"tenant":"acme","org":"qa","project":"shop","session":"s-17"},
 "created_at":"2026-03-01T10:00:00Z","updated_at":"2026-03-02T10:00:00Z","ttl":86400,
 "decay_fn":{"kind":"exponential","lambda":0.1},
 "confidence":0.9,"importance":0.7,"trust":0.8,"sensitivity":0.1,"novelty":0.4,
 "provenance":{"source_uri":"https://ci.example/run/17","signer":"unsigned","policy_tags":["ci"]},
 "security_label":["tenant:acme","level:internal","pii:none"],"pii_flags":["content.email"],
 "embedding_ref":"vec:1","graph_refs":["n1"],"content":"The login test failed: #login-button was not found.",
 "summary":{"text":"Login test failed.","dropped_spans":[{"start":0,"end":4}]},
 "category":"failure","session":"s-17","seq":4,"speaker":"healer","role":"assistant",
 "valid_from":"2026-03-01T00:00:00Z","valid_to":"2026-04-01T00:00:00Z",
 "links":[{"rel":"caused_by","to":"018f3c2a-7b1e-7c3d-9a55-3f2b1c0d9e80"}],"signer":"unsigned",
 "attributes":{"test_type":"e2e"}}`
)
