package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"pgregory.net/rapid"
)

// compiled returns the compiled schema of a document, with formats asserted.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	raw, err := JSONSchema(name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(SchemaURI(name), doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaURI(name))
	if err != nil {
		t.Fatalf("compile %s: %v", name, err)
	}
	return s
}

func TestSchemasCompile(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		compiled(t, name)
	}
	if _, err := JSONSchema("nothing"); !errors.Is(err, ErrUnknownSchema) {
		t.Errorf("JSONSchema of an unknown name: %v", err)
	}
}

// pointers returns where a schema found faults, the fields that are missing or too
// many included.
func pointers(err error) []string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return nil
	}
	at := ""
	for _, name := range v.InstanceLocation {
		at += "/" + escapeName(name)
	}
	var found []string
	switch k := v.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			found = append(found, at+"/"+escapeName(name))
		}
		return found
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			found = append(found, at+"/"+escapeName(name))
		}
		return found
	case *kind.AnyOf:
		return []string{at}
	}
	for _, cause := range v.Causes {
		found = append(found, pointers(cause)...)
	}
	if len(v.Causes) == 0 {
		found = append(found, at)
	}
	return found
}

// TestWrittenDocumentsFit writes the zero value of every document Satchel sends: nil
// lists and pointers fit the schema, only words and names are missing.
func TestWrittenDocumentsFit(t *testing.T) {
	t.Parallel()
	for _, d := range documents() {
		if d.input {
			continue
		}
		raw, err := json.Marshal(reflect.New(d.typ).Interface())
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled(t, d.name).Validate(instance); err != nil {
			words := strings.Count(err.Error(), "value must be one of") + strings.Count(err.Error(), "does not match pattern")
			if strings.Count(err.Error(), "at '") != words {
				t.Errorf("%s: %v\n%s", d.name, err, raw)
			}
		}
	}
}

func escapeName(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// beyond are the rules a schema cannot express.
func beyond(i Issue) bool {
	for _, words := range []string{"must name the tenant", "must not be before", "must be after", "must equal", "must not be the item itself",
		"must be greater than start", "must lie inside", "given twice", "upside down", "must be of the same type", "must not be after",
		"bytes", "all zeros", "is required for a keyword query", "is required with id", "names are case-sensitive"} {
		if strings.Contains(i.Message, words) {
			return true
		}
	}
	return false
}

func related(a, b string) bool {
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}

// agree fails when the schema and the issues see a document differently.
func agree(t *rapid.T, s *jsonschema.Schema, doc any, issues []Issue) {
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	schemaErr := s.Validate(instance)
	found := pointers(schemaErr)
	for _, p := range found {
		if !slices.ContainsFunc(issues, func(i Issue) bool { return related(i.Pointer, p) }) {
			t.Fatalf("the schema refuses %q, Validate does not: %v\n%s\n%v", p, schemaErr, raw, issues)
		}
	}
	for _, i := range issues {
		if !beyond(i) && !slices.ContainsFunc(found, func(p string) bool { return related(i.Pointer, p) }) {
			t.Fatalf("Validate refuses %v, the schema does not: %v\n%s", i, schemaErr, raw)
		}
	}
}

func shortText() *rapid.Generator[string] { return rapid.StringMatching(`[A-Za-z0-9 äß€_-]{1,24}`) }
func idText() *rapid.Generator[string]    { return rapid.StringMatching(`[A-Za-z0-9._:-]{1,24}`) }
func timeText() *rapid.Generator[string] {
	return rapid.Map(rapid.IntRange(10, 99), func(y int) string { return "20" + strconv.Itoa(y) + "-03-04T05:06:07.5Z" })
}

// maybe sets a field in about a third of the documents.
func maybe[T any](t *rapid.T, doc object, name string, g *rapid.Generator[T]) {
	if rapid.IntRange(0, 2).Draw(t, "has "+name) == 0 {
		doc[name] = g.Draw(t, name)
	}
}

func drawItem(t *rapid.T) object {
	level := rapid.SampledFrom(levelNames[:]).Draw(t, "level")
	doc := object{
		"id": idText().Draw(t, "id"), "type": rapid.SampledFrom([]MemoryType{Episodic, Procedural, Semantic}).Draw(t, "type"),
		"kind":           rapid.SampledFrom([]Kind{KindMemory, KindSummary, KindKnowledge, KindCode, KindExperience, KindValue, KindCommit, KindTool}).Draw(t, "kind"),
		"scope":          object{"tenant": "acme", "org": shortText().Draw(t, "org")},
		"created_at":     timeText().Draw(t, "created"),
		"security_label": []any{"tenant:acme", "level:" + level, "group:" + rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "group")},
		"content":        rapid.SampledFrom([]any{"some text", object{"a": 1}, []any{1, "x"}}).Draw(t, "content"),
	}
	unit := rapid.Float64Range(0, 1)
	for _, name := range []string{"confidence", "importance", "trust", "sensitivity", "novelty"} {
		maybe(t, doc, name, unit)
	}
	for _, name := range []string{"category", "session", "speaker", "embedding_ref"} {
		maybe(t, doc, name, shortText())
	}
	maybe(t, doc, "ttl", rapid.Int64Range(0, MaxTTL))
	maybe(t, doc, "seq", rapid.Int64Range(0, 1<<40))
	maybe(t, doc, "role", rapid.SampledFrom([]string{"", "user", "assistant", "tool", "system"}))
	maybe(t, doc, "pii_flags", rapid.SliceOfN(shortText(), 0, 3))
	maybe(t, doc, "decay_fn", rapid.SampledFrom([]any{object{"kind": "none"}, object{"kind": "exponential", "lambda": 0.1}, object{"kind": "step", "days": 3}}))
	maybe(t, doc, "links", rapid.SampledFrom([]any{[]any{}, []any{object{"rel": "mentions", "to": "other-1"}}}))
	maybe(t, doc, "summary", rapid.SampledFrom([]any{object{"text": "short"}, object{"text": "short", "dropped_spans": []any{object{"start": 0, "end": 2}}}}))
	maybe(t, doc, "provenance", rapid.SampledFrom([]any{object{"source_uri": "file:///a", "policy_tags": []any{"t"}}, object{"checksum": "sha256:" + strings.Repeat("0a", 32)}}))
	maybe(t, doc, "attributes", rapid.SampledFrom([]any{
		object{"domain": "debugging", "confidence_tier": "gold", "iteration_count": 2, "lesson": object{"what_worked": "x"}},
		object{"file_path": "a.go", "start_line": 3, "end_line": 9, "language": "go"},
		object{"sha": "abcdef0123", "files_changed": []any{"a"}, "insertions": 1},
		object{"signature": "f(x)", "safety_tags": []any{"read_only"}, "parameters": object{"type": "object"}},
		object{"axis": "full", "cluster_size": 3, "similarity_to_centroid": 0.5, "free": []any{1}},
	}))
	return doc
}

// drawWild is a value that is wrong nearly everywhere.
func drawWild(t *rapid.T) any {
	return rapid.SampledFrom([]any{nil, true, -1, 1.5, 7, 1e12, "", " ", "x y!", "\n", "level:secret", "tenant:other", strings.Repeat("x", 300),
		[]any{}, []any{1}, []any{""}, []any{"nolabel"}, []any{object{}}, object{}, object{"x": 1}, "2026-13-01T00:00:00Z", "2026-01-01T00:00:00Z"}).Draw(t, "wild")
}

// mutate replaces, removes or adds something somewhere in doc.
func mutate(t *rapid.T, doc object) {
	names := sortedKeys(doc)
	name := rapid.SampledFrom(names).Draw(t, "field")
	switch rapid.IntRange(0, 4).Draw(t, "how") {
	case 0:
		delete(doc, name)
	case 1:
		doc[rapid.SampledFrom([]string{"unknown", "ID", "a/b~c", "seq", "novelty", "role", "links", "signer", "payload", "query"}).Draw(t, "new")] = drawWild(t)
	case 2:
		if inner, ok := doc[name].(map[string]any); ok && len(inner) > 0 {
			mutate(t, inner)
			return
		}
		fallthrough
	default:
		doc[name] = drawWild(t)
	}
}

func sortedKeys(doc object) []string {
	names := make([]string, 0, len(doc))
	for name := range doc {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// deepCopy keeps mutations away from the shared samples.
func deepCopy(t *rapid.T, doc object) object {
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var out object
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestItemAgreesWithSchema(t *testing.T) {
	t.Parallel()
	s := compiled(t, "memory-item")
	rapid.Check(t, func(t *rapid.T) {
		doc := deepCopy(t, drawItem(t))
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		_, issues := DecodeMemoryItem(raw)
		if issues = slices.DeleteFunc(issues, beyond); len(issues) > 0 && !strings.HasPrefix(issues[0].Pointer, "/attributes") {
			t.Fatalf("a valid item is refused: %v\n%s", issues, raw)
		}
		for range rapid.IntRange(0, 3).Draw(t, "mutations") {
			if len(doc) > 0 {
				mutate(t, doc)
			}
		}
		if raw, err = json.Marshal(doc); err != nil {
			t.Fatal(err)
		}
		_, issues = DecodeMemoryItem(raw)
		agree(t, s, doc, issues)
	})
}

func drawRequest(t *rapid.T) object {
	query := object{"text": shortText().Draw(t, "text")}
	maybe(t, query, "type", rapid.SampledFrom([]string{"", "keyword", "semantic", "graph", "hybrid"}))
	maybe(t, query, "vector", rapid.SliceOfN(rapid.Float32Range(-1, 1), 1, 4))
	maybe(t, query, "filters", rapid.SampledFrom([]any{object{"test_type": "e2e"}, object{"n": object{"gte": 1, "lt": 5}}, object{"k": []any{"a", "b"}}, object{"k": object{"in": []any{1}}},
		object{"k": object{"ne": 1, "exists": true}}, object{"or": []any{object{"k": 1}, object{"l": object{"gte": 1}}}}}))
	payload := object{"query": query}
	maybe(t, payload, "limit", rapid.IntRange(0, MaxLimit))
	maybe(t, payload, "token_budget", rapid.IntRange(0, MaxTokenBudget))
	maybe(t, payload, "include_scores", rapid.Bool())
	maybe(t, payload, "user_message", shortText())
	maybe(t, payload, "session", shortText())
	maybe(t, payload, "now", timeText())
	maybe(t, payload, "purpose", idText())
	maybe(t, payload, "prefer", rapid.SampledFrom([]string{"", "docs", "code", "history", "talk"}))
	maybe(t, payload, "repeat", rapid.SampledFrom([]string{"", "full", "stable"}))
	maybe(t, payload, "min_score", rapid.Float64Range(-2, 2))
	maybe(t, payload, "relevance", rapid.SampledFrom([]any{object{"mode": "ACT"}, object{"mode": "RESPOND", "signals": object{"greeting_pattern": true, "n": 3}}}))
	doc := object{"payload": payload}
	maybe(t, doc, "meta", rapid.SampledFrom([]any{
		object{"type": "ContextRequest", "id": "m1", "trace": "kept"},
		object{"type": "ContextRequest", "from": object{"type": "specialist", "id": "healer", "securityLevel": "internal", "authorizedGroups": []any{"qa"}}},
	}))
	return doc
}

func TestRequestAgreesWithSchema(t *testing.T) {
	t.Parallel()
	s := compiled(t, "context-request")
	rapid.Check(t, func(t *rapid.T) {
		doc := deepCopy(t, drawRequest(t))
		for i := range rapid.IntRange(0, 3).Draw(t, "mutations") {
			into := doc
			if payload, ok := doc["payload"].(map[string]any); ok && len(payload) > 0 && i != 1 {
				into = payload
			}
			if len(into) > 0 {
				mutate(t, into)
			}
		}
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		_, issues := DecodeContextRequest(raw)
		agree(t, s, doc, issues)
	})
}

// TestOthersAgreeWithSchema mutates one good example of every other document an agent sends.
func TestOthersAgreeWithSchema(t *testing.T) {
	t.Parallel()
	scope := object{"tenant": "acme"}
	for _, c := range []struct {
		name   string
		doc    object
		decode func([]byte) []Issue
	}{
		{"memory-linked", object{"scope": scope, "from": "a", "links": []any{object{"rel": "follows", "to": "b"}}}, func(b []byte) []Issue { _, i := DecodeMemoryLinked(b); return i }},
		{"memory-superseded", object{"scope": scope, "item": "a", "by": "b", "reason": "newer"}, func(b []byte) []Issue { _, i := DecodeMemorySuperseded(b); return i }},
		{"memory-accessed", object{"scope": scope, "items": []any{"a", "b"}}, func(b []byte) []Issue { _, i := DecodeMemoryAccessed(b); return i }},
		{"memory-erased", object{"scope": scope, "items": []any{"a"}, "reason": "asked"}, func(b []byte) []Issue { _, i := DecodeMemoryErased(b); return i }},
		{"put-request", object{"agent": "a", "event": object{"specversion": "1.0"}, "wait": "logged"}, func(b []byte) []Issue { _, i := DecodePutRequest(b); return i }},
		{"search-request", object{"query": "q", "limit": 3, "min_confidence": 0.5, "memory_types": []any{"fact"}}, issuesOf[SearchRequest]},
		{"build-request", object{"query": "q", "template": "chat", "token_budget": 10, "inline": object{"name": "x", "memory_format": "{{content}}"}}, issuesOf[BuildRequest]},
		{"assemble-request", object{"query": "q", "context_types": []any{"code"}, "max_tokens": 10}, issuesOf[AssembleRequest]},
		{"premortem-request", object{"domain": "debugging", "strategy": "s", "limit": 3}, issuesOf[PremortemRequest]},
		{"explain-request", object{"pack_id": "p", "item_id": "i"}, issuesOf[ExplainRequest]},
		{"compact-request", object{"pack_id": "p", "budget": 3}, issuesOf[CompactRequest]},
		{"recover-request", object{"pack_id": "p", "item_ids": []any{"i"}}, issuesOf[RecoverRequest]},
		{"items-request", object{"item_ids": []any{"i"}, "purpose": "p"}, issuesOf[ItemsRequest]},
		{"status-request", object{"from": object{"id": "a"}}, issuesOf[StatusRequest]},
		{"plan-request", object{"items": []any{"i", "j"}}, issuesOf[PlanRequest]},
		{"items-request", object{"session": "s", "labels": []any{"l"}, "kinds": []any{"turn"}, "after": "a", "limit": 3, "min_position": 2}, issuesOf[ItemsRequest]},
		{"role-request", object{"task": "t", "pack_id": "p", "expose": []any{"task"}, "token_budget": 3, "plan": object{"steps": []any{object{"id": "1", "question": "q"}}}}, issuesOf[RoleRequest]},
		{"run-request", object{"task": "t", "session": "s", "purpose": "p", "request_id": "r"}, issuesOf[RunRequest]},
		{"exception-request", object{"add": object{"owner": "mara", "path": "read:clearance", "principals": []any{"x"}, "reason": "r", "labels": []any{"a:b"},
			"expires_at": "2026-01-01T00:00:00Z", "rollback_trigger": "uses>=1", "audit_hook": "h"}}, issuesOf[ExceptionRequest]},
		{"exception-request", object{"revoke": "x", "ended": true}, issuesOf[ExceptionRequest]},
		{"hold-request", object{"place": object{"items": []any{"a"}, "matter": "m", "reason": "r"}}, issuesOf[HoldRequest]},
		{"hold-request", object{"place": object{"session": "s", "label": "", "agent": "", "reason": "r"}}, issuesOf[HoldRequest]},
		{"hold-request", object{"release": "x", "reason": "r", "released": true}, issuesOf[HoldRequest]},
		{"open-request", object{"handle": "h", "from": object{"id": "x"}}, issuesOf[OpenRequest]},
		{"entries-request", object{"kinds": []any{"pack", "drop"}, "before": 9, "limit": 3}, issuesOf[EntriesRequest]},
		{"receipt-request", object{"source": "s", "id": "i", "level": "logged", "timeout_ms": 3}, issuesOf[ReceiptRequest]},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := compiled(t, c.name)
			rapid.Check(t, func(t *rapid.T) {
				doc := deepCopy(t, c.doc)
				for range rapid.IntRange(0, 2).Draw(t, "mutations") {
					if len(doc) > 0 {
						mutate(t, doc)
					}
				}
				raw, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				agree(t, s, doc, c.decode(raw))
			})
		})
	}
}

func issuesOf[T any, P validated[T]](data []byte) []Issue {
	_, issues := Decode[T, P](data)
	return issues
}

// TestEveryFaultAtOnce counts: each of several faults in one document has its pointer.
func TestEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	_, issues := DecodeMemoryItem([]byte(`{"id":"a b","type":7,"kind":"memo","scope":{"tenant":""},"created_at":"yesterday",
		"confidence":2,"links":[{"rel":"mentions","to":"ok"},{"rel":3,"to":""}],"colour":"red","Session":"s","role":null}`))
	var have []string
	for _, i := range issues {
		have = append(have, i.Pointer)
	}
	for _, want := range []string{"/id", "/type", "/kind", "/scope/tenant", "/created_at", "/confidence", "/links/1/rel", "/links/1/to",
		"/colour", "/Session", "/role", "/security_label", "/content"} {
		if !slices.Contains(have, want) {
			t.Errorf("no issue at %s in %v", want, issues)
		}
	}
	if len(have) != 13 {
		t.Errorf("%d issues, want 13: %v", len(have), issues)
	}
}
