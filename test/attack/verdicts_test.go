package attack

import (
	"fmt"
	"strings"
	"testing"

	"satchel/test/parts"
)

// Two tenants hold the same, but that one of them has items besides which filters let through and
// verdicts hide: ended, of hidden sources, wholly redacted. They rank far below what is found, so
// no decision is ever made on them. Another group of hidden items names whom some visible ones
// name. Each question must have the same reply in both.
func TestVerdictsMoveNothing(t *testing.T) {
	parts.Long(t)
	t.Parallel()
	w := newWorld(t, "t-none", "t-some")
	asker := &principals[2]
	internal, n := []string{"level:internal"}, map[string]int{}
	send := func(tenant, id, text string, labels []string, more map[string]any) {
		item := map[string]any{"id": id, "type": "semantic", "kind": "memory", "scope": map[string]any{"tenant": tenant},
			"created_at": "2026-03-03T10:00:00Z", "security_label": labels, "content": text}
		for k, v := range more {
			item[k] = v
		}
		n[tenant] = w.record(t, tenant, &state{}, item, n[tenant])
	}
	for _, tenant := range w.tenants {
		for i := range 125 {
			labels := append([]string{"project:ward"}, internal...)
			text := fmt.Sprintf("cholera cholera %d.", i)
			if i%3 == 0 {
				text = fmt.Sprintf("The crane motor %d was checked by Ines Vogel.", i)
			}
			send(tenant, fmt.Sprintf("v%03d", i), text, labels, nil)
		}
		send(tenant, "masked", "The motor of the crane is old.", internal, map[string]any{"category": "hiv-positive", "pii_flags": []string{"$.category"}})
		if tenant == "t-some" {
			send(tenant, "source", "the list of the ward", []string{"level:restricted"}, nil)
			for i := range 4 {
				text := fmt.Sprintf("In the ward by the river the patient %d, who came on a rainy monday with an umbrella, has cholera as the doctor of the night wrote.", i)
				text, labels := text, append([]string{"project:ward", "project:river"}, internal...)
				send(tenant, fmt.Sprint("h-expired-", i), text, labels, map[string]any{"ttl": 1})
				send(tenant, fmt.Sprint("h-ended-", i), text, labels, map[string]any{"valid_to": "2026-03-05T00:00:00Z"})
				send(tenant, fmt.Sprint("h-whole-", i), text, append([]string{"pii:health"}, labels...), nil)
				send(tenant, fmt.Sprint("h-made-", i), text, labels, map[string]any{"kind": "summary", "links": []any{map[string]any{"rel": "derived_from", "to": "source"}}})
				for j := range 3 {
					send(tenant, fmt.Sprintf("h-named-%d-%d", i, j), "The board suspects Ines Vogel of fraud.", []string{"level:restricted", "project:ward", "project:river"}, nil)
				}
			}
		}
		n[tenant] = w.settle(t, tenant, n[tenant])
	}
	contract := contract(t)
	subject := contract["context_request"]
	from := asker.from()
	request := func(query map[string]any, limit int) map[string]any {
		return map[string]any{"meta": map[string]any{"type": "ContextRequest", "from": from}, "payload": map[string]any{
			"query": query, "token_budget": 1500, "limit": limit, "include_scores": true, "include_graph": true}}
	}
	search := func(text, label string) map[string]any {
		return map[string]any{"from": from, "query": text, "limit": 100, "filters": map[string]any{"labels": label}}
	}
	category := map[string]any{"category": "hiv-positive"}
	for i, q := range []struct {
		operation string
		body      map[string]any
		empty     bool
	}{
		{"context_request", request(map[string]any{"type": "keyword", "text": "cholera"}, 1), false},
		{"context_request", request(map[string]any{"type": "semantic", "text": "cholera"}, 1), false},
		{"context_request", request(map[string]any{"text": "who has cholera"}, 20), false},
		{"context_request", request(map[string]any{"text": "crane motor Ines Vogel"}, 50), false},
		{"context_request", request(map[string]any{"text": "cholera", "filters": map[string]any{"labels": "project:ward"}}, 20), false},
		{"context_request", request(map[string]any{"text": "cholera", "filters": map[string]any{"labels": "project:river"}}, 20), true},
		{"context_search", search("who has cholera", "project:ward"), false},
		{"context_search", search("crane motor Ines Vogel", "project:ward"), false},
		{"context_search", search("who has cholera", "project:river"), true},
		{"context_search", search("crane motor Ines Vogel", "project:river"), true},
		{"context_preview", search("who has cholera", "project:ward"), false},
		{"context_build", search("who has cholera", "project:river"), true},
	} {
		for _, tenant := range w.tenants { // what packs were shown counts from here on
			n[tenant] = w.settle(t, tenant, n[tenant])
		}
		at := contract[q.operation]
		none := flatten(t, ask(w.conn(asker, "t-none"), subjectFor(at, "t-none"), q.body), "t-none")
		some := flatten(t, ask(w.conn(asker, "t-some"), subjectFor(at, "t-some"), q.body), "t-some")
		found := none["/payload/results#"] + none["/results#"] + none["/memoryIds#"] + none["/memory_ids#"] + none["/memories#"]
		if found == "" || (strings.Trim(found, "0") == "") != q.empty {
			t.Fatalf("question %d finds %q: %v", i, found, none)
		}
		for _, path := range sorted(union(none, some)) {
			if none[path] != some[path] && !noise.MatchString(path) {
				t.Errorf("question %d: %s depends on what verdicts hide: %.200q and %.200q", i, path, none[path], some[path])
			}
		}
	}
	for _, filters := range []map[string]any{category, {"category": map[string]any{"in": []string{"hiv-positive"}}}} {
		body := request(map[string]any{"text": "motor of the crane", "filters": filters}, 20)
		found := flatten(t, ask(w.conn(asker, "t-none"), subjectFor(subject, "t-none"), body), "t-none")
		if found["/payload/results#"] != "0" {
			t.Errorf("the filter %v finds %s items by a category that is hidden", filters, found["/payload/results#"])
		}
		body["meta"].(map[string]any)["from"] = principals[5].from()
		found = flatten(t, ask(w.conn(&principals[5], "t-none"), subjectFor(subject, "t-none"), body), "t-none")
		if found["/payload/results#"] != "1" {
			t.Errorf("the filter %v finds %s items for who may see the category, want 1", filters, found["/payload/results#"])
		}
	}
}
