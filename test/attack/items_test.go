package attack

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"satchel/schemas"
)

// state is what restricts an item, who may see the item at all, and who may see what is hidden in it.
type state struct {
	name    string
	labels  []string
	change  func(item map[string]any, hidden string) // what else makes the state
	sees    func(p *principal, purpose string) bool
	reveals func(p *principal) bool // nil: nothing of the item is hidden from one who sees it
	suffix  string                  // what follows the hidden canary wherever it stands
	again   []string                // labels with which it is recorded a second time
}

func cleared(rank int) func(*principal, string) bool {
	return func(p *principal, _ string) bool { return !p.elsewhere && p.rank() >= rank }
}

func inOps(p *principal, _ string) bool { return !p.elsewhere && p.rank() >= 1 && p.in("ops") }

func nobody(*principal, string) bool { return false }

func pii(p *principal) bool { return p.has("pii_reader") }

var states = []state{
	{name: "plain", labels: []string{"level:internal"}, sees: cleared(1)},
	{name: "confidential", labels: []string{"level:confidential"}, sees: cleared(2)},
	{name: "restricted", labels: []string{"level:restricted"}, sees: cleared(3)},
	{name: "group", labels: []string{"level:internal", "group:ops"}, sees: inOps},
	{name: "purpose", labels: []string{"level:internal", "purpose:billing"}, sees: func(p *principal, purpose string) bool { return cleared(1)(p, "") && purpose == "billing" }},
	{name: "export", labels: []string{"level:internal", "export:restricted"}, sees: func(p *principal, purpose string) bool { return cleared(1)(p, "") && purpose != "export" }},
	{name: "flagged", labels: []string{"level:internal", "pii:ssn"}, sees: cleared(1), reveals: pii, change: func(item map[string]any, hidden string) {
		item["content"] = map[string]any{"note": item["content"], "secret": hidden}
		item["pii_flags"] = []string{"$.content.secret"}
	}},
	{name: "whole", labels: []string{"level:internal", "pii:health"}, sees: func(p *principal, _ string) bool { return !p.elsewhere && pii(p) }},
	{name: "detected", suffix: "@example.org", labels: []string{"level:internal"}, sees: cleared(1), reveals: pii, change: func(item map[string]any, hidden string) {
		item["content"] = fmt.Sprint(item["content"], " write to ", hidden)
	}},
	{name: "extract", labels: []string{"level:internal", "extract:8"}, sees: cleared(1), reveals: pii, change: func(item map[string]any, hidden string) {
		item["content"] = fmt.Sprint(item["content"], strings.Repeat(" and so the long tale goes on.", 40), " At its end stands ", hidden, ".")
	}},
	{name: "credentials", labels: []string{"level:internal", "credentials:true"}, sees: func(p *principal, _ string) bool { return cleared(1)(p, "") && p.has("credentials_reader") }},
	{name: "expired", labels: []string{"level:internal"}, sees: nobody, change: func(item map[string]any, _ string) { item["ttl"] = 60 }},
	{name: "over", labels: []string{"level:internal"}, sees: nobody, change: func(item map[string]any, _ string) { item["valid_to"] = "2026-04-01T00:00:00Z" }},
	{name: "untrusted", labels: []string{"level:internal"}, sees: nobody, change: func(item map[string]any, _ string) { item["trust"] = .1 }},
	{name: "raised", labels: []string{"level:public"}, again: []string{"level:restricted"}, sees: cleared(3)},
	{name: "erased", labels: []string{"level:public"}, sees: nobody},
}

// field puts a canary into a field of an item; nil for one that holds no words of its author.
var fields = map[string]func(item map[string]any, canary string){
	"Content":      func(item map[string]any, c string) { item["content"] = fmt.Sprint(item["content"], " ", c) },
	"Scope":        func(item map[string]any, c string) { item["scope"].(map[string]any)["project"] = c },
	"Provenance":   func(item map[string]any, c string) { item["provenance"] = map[string]any{"source_uri": "file:///" + c} },
	"EmbeddingRef": func(item map[string]any, c string) { item["embedding_ref"] = c },
	"GraphRefs":    func(item map[string]any, c string) { item["graph_refs"] = []string{c} },
	"Summary":      func(item map[string]any, c string) { item["summary"] = map[string]any{"text": "In short " + c} },
	"Category":     func(item map[string]any, c string) { item["category"] = c },
	"Session":      func(item map[string]any, c string) { item["session"] = c },
	"Speaker":      func(item map[string]any, c string) { item["speaker"] = c },
	"Links":        func(item map[string]any, c string) { item["links"] = []any{map[string]any{"rel": "mentions", "to": c}} },
	"Attributes":   attributes,
	// The ledger names ids to the whole tenant, and a label is what policy decides by.
	"ID": nil, "SecurityLabel": nil, "PIIFlags": nil, "Signer": nil,
	"Type": nil, "Kind": nil, "Role": nil, "CreatedAt": nil, "UpdatedAt": nil, "TTL": nil, "DecayFn": nil, "Confidence": nil, "Importance": nil,
	"Trust": nil, "Sensitivity": nil, "Novelty": nil, "Seq": nil, "ValidFrom": nil, "ValidTo": nil,
}

// attributes fills each text of the attributes of the item's kind.
func attributes(item map[string]any, c string) {
	switch schemas.Kind(item["kind"].(string)) {
	case schemas.KindCode:
		item["attributes"] = map[string]any{"file_path": c + ".go", "name": c, "qualified_name": c, "signature": "func " + c + "()", "docstring": c, "language": "go", "unit_type": "function"}
	case schemas.KindCommit:
		item["attributes"] = map[string]any{"sha": "0123456789abcdef", "author": c, "timestamp": "2026-03-03T10:00:00Z", "files_changed": []string{c + ".go"}}
	case schemas.KindTool:
		item["attributes"] = map[string]any{"name": c, "signature": c + "(x)", "description": c, "safety_notes": c, "parameters": map[string]any{"type": "object", "properties": map[string]any{c: map[string]any{"type": "string"}}}}
	case schemas.KindExperience:
		item["attributes"] = map[string]any{"domain": "debugging", "strategy": "systematic-elimination", "goal": c, "hypothesis": c, "action": c, "prediction": c, "outcome_status": "falsified", "outcome_result": c, "surprise": c, "root_cause": c, "lesson": map[string]any{"what_worked": c, "takeaway": c}}
	case schemas.KindValue:
		item["attributes"] = map[string]any{"axis": "full", "cluster_id": c, "cluster_size": 3, "domain": "debugging", "strategy": "systematic-elimination"}
	default:
		item["attributes"] = map[string]any{"title": c, "heading": c}
	}
}

// kinds are the kinds of item that a state is tried on.
var kinds = []schemas.Kind{schemas.KindMemory, schemas.KindKnowledge, schemas.KindCode, schemas.KindCommit, schemas.KindTool, schemas.KindExperience, schemas.KindValue, schemas.KindSummary}

// secret is a canary: what it stands in, and whether it is what the state hides in the item.
type secret struct {
	state  *state
	kind   schemas.Kind
	field  string
	hidden bool
}

func (s secret) String() string {
	return fmt.Sprintf("%s of a %s item of kind %s", s.field, s.state.name, s.kind)
}

// allowed is the oracle: whether the principal may see the canary when it asks for the purpose.
func (s secret) allowed(p *principal, purpose string) bool {
	if !s.state.sees(p, purpose) {
		return false
	}
	return !s.hidden || s.state.reveals(p)
}

// shared words stand in every item, so that every question meets every item.
const shared = "quarry ledger of the orchard"

// item makes the item of a state and kind, and its canaries. What the state hides also
// stands in the summary and the attributes, as a writer would repeat it there.
func (w *world) item(tenant string, st *state, kind schemas.Kind) (map[string]any, map[string]secret) {
	canaries := map[string]secret{}
	word := func(field string, hidden bool) string {
		c := w.canary()
		canaries[c] = secret{st, kind, field, hidden}
		return c
	}
	item := map[string]any{"id": st.name + "-" + string(kind), "type": "semantic", "kind": string(kind), "scope": map[string]any{"tenant": tenant},
		"created_at": "2026-03-03T10:00:00Z", "security_label": st.labels, "content": fmt.Sprintf("The %s %s %s is here.", shared, st.name, kind)}
	for _, name := range fieldNames() {
		if set := fields[name]; set != nil {
			set(item, word(name, false))
		}
	}
	if st.reveals != nil {
		hidden := word("hidden part", true) + st.suffix
		st.change(item, hidden)
		item["summary"] = map[string]any{"text": "In short " + hidden}
		attributes(item, hidden)
	} else if st.change != nil {
		st.change(item, "")
	}
	return item, canaries
}

func fieldNames() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[schemas.MemoryItem]()) {
		names = append(names, f.Name)
	}
	return names
}

// Every field of an item has a row, and so has every kind.
func TestEveryFieldHasARow(t *testing.T) {
	for _, name := range fieldNames() {
		if _, ok := fields[name]; !ok {
			t.Errorf("MemoryItem.%s has no row: say how a canary gets into it, or that it holds no words", name)
		}
	}
	if len(fields) != len(fieldNames()) {
		t.Errorf("%d rows for %d fields", len(fields), len(fieldNames()))
	}
	for _, info := range schemas.Kinds() {
		if !contains(names(kinds), string(info.Kind)) {
			t.Errorf("kind %s has no row", info.Kind)
		}
	}
}

func names(kinds []schemas.Kind) []string {
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = string(k)
	}
	return list
}
