package attack

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reason is a reason to hide an item from the asker of TestNoFigureTellsOfAHiddenItem, who asks for
// the purpose "export".
type reason struct {
	name   string
	labels []string
	fields map[string]any
	events func(send func(kind string, data map[string]any), item map[string]any) // nil: it is recorded
	longer bool                                                                   // the log is longer in the end
}

// reasons has a row for each way in which the built-in policy, or a tenant's own rule, hides the whole of
// an item. What was replaced and what is not valid yet is left out, and shown to who asks for it: no row.
var reasons = []reason{
	{name: "level", labels: []string{"level:restricted"}},
	{name: "group", labels: []string{"level:internal", "group:hr"}},
	{name: "purpose", labels: []string{"level:internal", "purpose:billing"}},
	{name: "export", labels: []string{"level:internal", "export:restricted"}},
	{name: "credentials", labels: []string{"level:internal", "credentials:true"}},
	{name: "personal", labels: []string{"level:internal", "pii:health"}},
	{name: "flagged", fields: map[string]any{"pii_flags": []string{"$.content"}}},
	{name: "sensitivity", fields: map[string]any{"sensitivity": .9}},
	{name: "trust", fields: map[string]any{"trust": .1}},
	{name: "ttl", fields: map[string]any{"ttl": 1}},
	{name: "over", fields: map[string]any{"valid_to": "2026-04-01T00:00:00Z"}},
	{name: "rule", labels: []string{"level:internal", "audience:board"}},
	{name: "derived", fields: map[string]any{"kind": "summary", "links": []any{map[string]any{"rel": "derived_from", "to": "source"}}},
		events: func(send func(string, map[string]any), item map[string]any) {
			source := maps.Clone(item)
			source["id"], source["kind"], source["security_label"] = "source", "memory", []string{"level:restricted"}
			delete(source, "links")
			send("recorded", source)
			send("recorded", item)
		}},
	{name: "raised", labels: []string{"level:restricted"}, events: func(send func(string, map[string]any), item map[string]any) {
		first := maps.Clone(item)
		first["security_label"] = []string{"level:internal"}
		send("recorded", first)
		send("recorded", item)
	}},
	{name: "erased", longer: true, events: func(send func(string, map[string]any), item map[string]any) {
		send("recorded", item)
		send("erased", map[string]any{"scope": item["scope"], "items": []any{item["id"]}})
	}},
}

// mostEvents is how many events hide an item at most: where there is none, as many change nothing, so that
// both logs are equally long.
const mostEvents = 2

// boardRule is a tenant's own rule, in both of its forms.
const boardRule = `package satchel.extra

deny contains [i, "board"] if {
	input.action in {"read", "open"}
	input.subject.level < 3
	some i, item in input.items
	"audience:board" in item.labels
}

conditions contains {"field": "labels", "op": "not_in", "values": ["audience:board"]} if input.subject.level < 3
`

// figures are what replies tell of items, beside their texts: the paths of each.
var figures = map[string]*regexp.Regexp{
	"novelty":     regexp.MustCompile(`results/0/metadata/signals/novelty_inverse$`),
	"frequency":   regexp.MustCompile(`results/0/metadata/signals/frequency$`),
	"recency":     regexp.MustCompile(`results/0/metadata/signals/recency$`),
	"causality":   regexp.MustCompile(`results/0/metadata/signals/causality$`),
	"relevance":   regexp.MustCompile(`results/0/metadata/signals/relevance$`),
	"score":       regexp.MustCompile(`results/0/score$`),
	"duplicates":  regexp.MustCompile(`drops/\d+/detail$`),
	"dropped":     regexp.MustCompile(`/drop_report/drops#$`),
	"denied":      regexp.MustCompile(`/totalDenied$`),
	"warnings":    regexp.MustCompile(`/warnings#$`),
	"TL;DR":       regexp.MustCompile(`/tldr/summary$`),
	"graph":       regexp.MustCompile(`/causalGraph/nodes#$`),
	"total":       regexp.MustCompile(`/total_count$`),
	"found":       regexp.MustCompile(`^/results#$`),
	"weights":     regexp.MustCompile(`^/ranking_scores/again$`),
	"tokens":      regexp.MustCompile(`/token_count$`),
	"time":        regexp.MustCompile(`(duration_ms|totalMs|slicingMs|retrievalMs)$`),
	"budget":      regexp.MustCompile(`/totalDroppedBudget$`),
	"sources":     regexp.MustCompile(`^/sources_used/`),
	"summary":     regexp.MustCompile(`(?i)summar`),
	"checks":      regexp.MustCompile(`^/checks/\d+/checked$`),
	"listed":      regexp.MustCompile(`^/items#$`),
	"explanation": regexp.MustCompile(`(?i)(reason|explanation)$`),
}

// figureQuestions are the questions, and the figures that the reply of each shows.
var figureQuestions = []struct {
	operation string
	body      func(from map[string]any, pack string) any
	figures   []string
}{
	{"context_request", figureRequest(nil), []string{"novelty", "frequency", "recency", "causality", "relevance", "score", "duplicates", "dropped", "denied", "warnings", "TL;DR", "graph", "total", "time"}},
	{"context_request", figureRequest(map[string]any{"query": map[string]any{"type": "keyword", "text": hiddenText}}), []string{"novelty", "relevance", "score", "dropped", "total"}},
	{"context_request", figureRequest(map[string]any{"query": map[string]any{"type": "semantic", "text": hiddenText}}), []string{"novelty", "relevance", "score", "dropped", "total"}},
	{"context_request", figureRequest(map[string]any{"query": map[string]any{"type": "graph", "text": hiddenText, "graph": map[string]any{"from": []string{"cause"}, "hops": 3}}}), []string{"causality", "score", "graph", "total"}},
	{"context_search", plainly(map[string]any{"query": hiddenText, "include_relationships": true, "relationship_depth": 2}), []string{"score", "found", "warnings"}},
	{"context_preview", plainly(map[string]any{"query": hiddenText, "token_budget": 2000, "include_metadata": true}), []string{"weights", "tokens"}},
	{"context_build", plainly(map[string]any{"query": hiddenText, "token_budget": 2000, "include_metadata": true}), []string{"tokens"}},
	{"context_assemble", plainly(map[string]any{"query": hiddenText, "max_tokens": 2000}), []string{"tokens", "sources", "warnings"}},
	{"context_compact", func(from map[string]any, pack string) any {
		return map[string]any{"from": from, "pack_id": pack, "budget": 60, "purpose": "export"}
	}, []string{"summary"}},
	{"context_run", plainly(map[string]any{"task": "who was the crane motor sold to?", "token_budget": 2000}), []string{"checks"}},
	{"context_items", plainly(map[string]any{"limit": 100}), []string{"listed"}},
	{"context_explain", func(from map[string]any, pack string) any {
		return map[string]any{"from": from, "pack_id": pack, "item_id": "same"}
	}, []string{"explanation"}},
	// The last, for it has the session compacted in the background.
	{"context_request", figureRequest(map[string]any{"token_budget": 90, "compaction": "auto", "session": "talk"}), []string{"budget", "TL;DR", "total"}},
}

// plainly asks with what is given, for the purpose of every question.
func plainly(body map[string]any) func(map[string]any, string) any {
	return func(from map[string]any, _ string) any {
		all := maps.Clone(body)
		all["from"], all["purpose"] = from, "export"
		return all
	}
}

// figureRequest asks for a pack with all that can be told of it.
func figureRequest(more map[string]any) func(map[string]any, string) any {
	payload := map[string]any{"query": map[string]any{"text": hiddenText}, "token_budget": 3000, "limit": 20, "min_score": 0, "purpose": "export", "include_scores": true, "include_graph": true}
	maps.Copy(payload, more)
	return func(from map[string]any, _ string) any {
		return map[string]any{"meta": map[string]any{"type": "ContextRequest", "from": from}, "payload": payload}
	}
}

// hiddenText is what the hidden item says, and one that the asker may see.
const hiddenText = "The crane motor was sold to Ines Vogel for nine crowns"

// Two tenants hold the same, but that one has an item that is hidden from the asker for a reason. It says
// word for word what a visible item says which is written after it, has the same labels where the reason
// lets it, and is linked with others. Each question has the same reply in both.
func TestNoFigureTellsOfAHiddenItem(t *testing.T) {
	t.Parallel()
	rules := t.TempDir()
	must(t, os.WriteFile(filepath.Join(rules, "board.rego"), []byte(boardRule), 0o600))
	var tenants []string
	for i := range reasons {
		tenants = append(tenants, reasons[i].name+"-none", reasons[i].name+"-some")
	}
	asker := &principals[2]
	w := openWorld(t, []principal{principals[0], *asker}, tenants, "--policy-bundle", rules)
	subjects, cells := contract(t), 0
	for i := range reasons {
		r := &reasons[i]
		pair, packs, n := [2]string{r.name + "-none", r.name + "-some"}, [2]string{}, map[string]int{}
		for k, tenant := range pair {
			n[tenant] = w.fillAround(t, tenant, r, k == 1)
			text := ask(w.conns[tenant+"/"+asker.name], subjectFor(subjects["context_request"], tenant), figureRequest(nil)(asker.from(), ""))
			packs[k] = reply(t, text)["payload"].(map[string]any)["pack_id"].(string)
		}
		for j, q := range figureQuestions {
			if !share(i+j, 3) {
				continue
			}
			replies := [2]map[string]string{}
			for k, tenant := range pair {
				n[tenant] = w.settle(t, tenant, n[tenant]) // what packs were shown counts from here on
				text := ask(w.conns[tenant+"/"+asker.name], subjectFor(subjects[q.operation], tenant), q.body(asker.from(), packs[k]))
				checkTimes(t, fmt.Sprint(q.operation, " ", j, " of ", tenant), text, false)
				replies[k] = flatten(t, text, tenant)
			}
			for _, path := range sorted(union(replies[0], replies[1])) {
				ofLog := noise.MatchString(path) || r.longer && strings.HasSuffix(path, "/position")
				if replies[0][path] != replies[1][path] && !ofLog {
					t.Errorf("%s %d, %s: %.200q without and %.200q with the hidden item", q.operation, j, path, replies[0][path], replies[1][path])
				}
			}
			for _, name := range q.figures {
				if cells++; !slices.ContainsFunc(sorted(replies[0]), figures[name].MatchString) {
					t.Errorf("%s %d shows no %s: %v", q.operation, j, name, replies[0])
				}
			}
		}
	}
	t.Logf("%d cells: %d reasons by the figures of %d questions", cells, len(reasons), len(figureQuestions))
}

// fillAround records what the asker may see, and among it the hidden item or events that change nothing.
func (w *world) fillAround(t *testing.T, tenant string, r *reason, hidden bool) (n int) {
	t.Helper()
	send := w.sender(t, tenant, &n)
	scope := map[string]any{"tenant": tenant}
	item := func(id, text string, more map[string]any) map[string]any {
		m := map[string]any{"id": id, "type": "semantic", "kind": "memory", "scope": scope, "created_at": "2026-03-03T10:00:00Z",
			"security_label": []string{"level:internal"}, "content": text}
		maps.Copy(m, more)
		return m
	}
	talk := func(i int) map[string]any {
		return map[string]any{"session": "talk", "seq": i, "speaker": []string{"Ines Vogel", "Tom Marsh"}[i%2]}
	}
	for i, text := range []string{"The crane by the river is older than the motor.", "Nine crowns is what a motor costs.", "Ines Vogel came on Monday.",
		"The clerk paid nine crowns for a lamp.", "A motor needs oil, and the crane needs a motor.", "Who was it sold to?", "It was sold on a rainy day."} {
		send("recorded", item(fmt.Sprint("v", i), text, talk(i)))
	}
	send("recorded", item("cause", "The river rose, and so the crane was sold.", map[string]any{"links": []any{map[string]any{"rel": "caused_by", "to": "v1"}}}))
	before := n
	if hidden {
		more := map[string]any{"links": []any{map[string]any{"rel": "caused_by", "to": "cause"}, map[string]any{"rel": "mentions", "to": "v2"}}, "category": "sales"}
		maps.Copy(more, r.fields)
		if r.labels != nil {
			more["security_label"] = r.labels
		}
		if secret := item("hidden", hiddenText+".", more); r.events != nil {
			r.events(send, secret)
		} else {
			send("recorded", secret)
		}
	}
	for n < before+mostEvents {
		send("accessed", map[string]any{"scope": scope, "items": []string{"nobody"}})
	}
	send("recorded", item("same", hiddenText+".", map[string]any{"category": "sales"}))
	send("recorded", item("again", "The crane motor was sold to Ines Vogel for nine crowns!", nil))
	for i, text := range []string{"The crane is gone.", "Ines Vogel has a motor now."} {
		send("recorded", item(fmt.Sprint("w", i), text, talk(10+i)))
	}
	return w.settle(t, tenant, n)
}
