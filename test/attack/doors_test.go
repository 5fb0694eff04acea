package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// question is what an operation is asked with.
type question struct {
	words, purpose string
	from           map[string]any
	tenant         string
	ids            []string // of all items
	packs          []string // of all packs that anybody was given
	handle         string   // of an artifact of the writer's
	positions      int      // entries of the log
}

// operations has a row for each operation of the contract that is asked: the bodies to send.
// An empty one takes no words of items in or out; its reason stands behind it.
var operations = map[string]func(q question) []any{
	"context_request": func(q question) []any {
		payload := func(more map[string]any) any {
			p := map[string]any{"query": map[string]any{"text": q.words}, "token_budget": 20000, "limit": 100, "min_score": 0, "purpose": q.purpose, "include_scores": true, "include_graph": true, "include_proofs": true}
			for k, v := range more {
				p[k] = v
			}
			return map[string]any{"meta": map[string]any{"type": "ContextRequest", "from": q.from}, "payload": p}
		}
		return []any{
			payload(nil),
			payload(map[string]any{"query": map[string]any{"type": "keyword", "text": q.words}}),
			payload(map[string]any{"query": map[string]any{"type": "semantic", "text": q.words}}),
			payload(map[string]any{"query": map[string]any{"type": "graph", "text": q.words, "graph": map[string]any{"from": q.ids[:min(8, len(q.ids))], "hops": 2}}}),
			payload(map[string]any{"token_budget": 400, "compaction": "auto"}),
			payload(map[string]any{"session": "attack", "task": q.words}),
		}
	},
	"context_search": func(q question) []any {
		return []any{map[string]any{"from": q.from, "query": q.words, "limit": 100, "purpose": q.purpose, "include_relationships": true, "relationship_depth": 2}}
	},
	"context_build":   build,
	"context_preview": build,
	"context_assemble": func(q question) []any {
		return []any{map[string]any{"from": q.from, "query": q.words, "limit": 100, "min_score": 0, "max_tokens": 20000, "purpose": q.purpose}}
	},
	"context_premortem": func(q question) []any {
		return []any{map[string]any{"from": q.from, "domain": "debugging", "strategy": "systematic-elimination", "purpose": q.purpose}}
	},
	"context_compact": func(q question) []any {
		return []any{map[string]any{"from": q.from, "query": q.words, "budget": 300, "purpose": q.purpose}}
	},
	"context_run": func(q question) []any {
		return []any{map[string]any{"from": q.from, "task": "what is in the " + q.words + "?", "purpose": q.purpose, "token_budget": 4000}}
	},
	"context_explain": func(q question) []any {
		var bodies []any
		for i, id := range q.ids {
			bodies = append(bodies, map[string]any{"from": q.from, "pack_id": q.packs[i%len(q.packs)], "item_id": id})
		}
		return bodies
	},
	"context_recover": func(q question) []any {
		var bodies []any
		for _, pack := range q.packs {
			bodies = append(bodies, map[string]any{"from": q.from, "pack_id": pack, "item_ids": q.ids[:min(50, len(q.ids))], "purpose": q.purpose})
		}
		return bodies
	},
	"context_items": func(q question) []any {
		return []any{
			map[string]any{"from": q.from, "item_ids": q.ids[:min(1000, len(q.ids))], "purpose": q.purpose},
			map[string]any{"from": q.from, "limit": 1000, "purpose": q.purpose},
			map[string]any{"from": q.from, "session": "attack", "limit": 3, "purpose": q.purpose},
		}
	},
	"plan": func(q question) []any {
		return []any{map[string]any{"from": q.from, "items": q.ids[:1]}, map[string]any{"from": q.from, "items": q.ids[1:4]}}
	},
	"context_template":  func(q question) []any { return []any{map[string]any{"from": q.from}} },
	"context_exception": func(q question) []any { return []any{map[string]any{"from": q.from, "ended": true}} },
	"context_hold": func(q question) []any {
		return []any{map[string]any{"from": q.from, "released": true}, map[string]any{"from": q.from, "release": "h"}}
	},
	"context_relevance": func(question) []any { return []any{map[string]any{"mode": "recall"}} },
	"context_status":    func(q question) []any { return []any{map[string]any{"from": q.from}} },
	"log_head":          func(question) []any { return []any{map[string]any{}} },
	"log_prove": func(q question) []any {
		var bodies []any
		for i := 1; i <= q.positions; i += max(1, q.positions/40) {
			bodies = append(bodies, map[string]any{"position": i})
		}
		return bodies
	},
	"log_pack": func(q question) []any {
		var bodies []any
		for _, pack := range q.packs {
			bodies = append(bodies, map[string]any{"from": q.from, "pack_id": pack})
		}
		return bodies
	},
	"log_entries": func(q question) []any {
		return []any{
			map[string]any{"from": q.from, "limit": 200},
			map[string]any{"from": q.from, "after": 1, "kinds": []string{"memory", "pack"}, "limit": 200},
			map[string]any{"from": q.from, "kinds": []string{"drop"}},
			map[string]any{"from": q.from, "kinds": []string{"decision"}},
		}
	},
	"log_receipt": func(question) []any {
		return []any{map[string]any{"source": "attack", "id": "writer-recorded-1", "level": "proved", "timeout_ms": 1000}}
	},
	"openArtifact":   func(q question) []any { return []any{map[string]any{"from": q.from, "handle": q.handle}} },
	"revokeArtifact": func(q question) []any { return []any{map[string]any{"from": q.from, "handle": q.handle}} },
	"storeArtifact": func(q question) []any {
		return []any{map[string]any{"from": q.from, "offer": "_INBOX.nobody", "media_type": "text/plain", "query": q.words}}
	},
	"role_planner":     role,
	"role_retriever":   role,
	"role_verifier":    role,
	"role_synthesizer": role,
	"role_sentinel":    role,
	"put":              nil, // TestChanges writes
	"memoryEvents":     nil, // TestChanges publishes
}

func build(q question) []any {
	body := map[string]any{"from": q.from, "query": q.words, "limit": 100, "purpose": q.purpose, "token_budget": 20000, "include_metadata": true, "include_relationships": true, "relationship_depth": 2}
	inline := map[string]any{"inline": map[string]any{"name": "all", "header": "<", "footer": ">", "separator": "\n", "include_metadata": true, "memory_format": "{{id}} {{type}} {{content}} {{score}} {{created_at}}"}}
	for k, v := range body {
		inline[k] = v
	}
	return []any{body, inline}
}

func role(q question) []any {
	return []any{
		map[string]any{"from": q.from, "task": "what is in the " + q.words + "?", "purpose": q.purpose, "token_budget": 4000},
		map[string]any{"from": q.from, "task": "what is in the " + q.words + "?", "purpose": q.purpose, "token_budget": 4000, "pack_id": q.packs[0]},
	}
}

// asksWords lists the operations whose reply follows the words of a question.
var asksWords = []string{"context_request", "context_search", "context_build", "context_preview", "context_assemble", "context_compact", "context_run", "role_retriever", "role_synthesizer", "role_verifier", "role_planner"}

// address returns the subject of an operation, by the contract.
func contract(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("../../schemas/asyncapi.json")
	must(t, err)
	var doc struct {
		Channels   map[string]struct{ Address string }
		Operations map[string]struct {
			Action  string
			Channel struct {
				Ref string `json:"$ref"`
			}
		}
	}
	must(t, json.Unmarshal(raw, &doc))
	subjects := map[string]string{}
	for name, op := range doc.Operations {
		if op.Action == "receive" {
			subjects[name] = doc.Channels[strings.TrimPrefix(op.Channel.Ref, "#/channels/")].Address
		}
	}
	return subjects
}

// Every operation of the contract, and every endpoint that the service has, has a row.
func TestEveryOperationHasARow(t *testing.T) {
	subjects := contract(t)
	for name := range subjects {
		if _, ok := operations[name]; !ok {
			t.Errorf("operation %s (%s) has no row: say what it is asked with", name, subjects[name])
		}
	}
	for name := range operations {
		if subjects[name] == "" {
			t.Errorf("row %s is no operation of the contract", name)
		}
	}
	known := map[string]bool{}
	for _, subject := range subjects {
		known[strings.NewReplacer("{tenant}", "*", "{agent}", "*").Replace(subject)] = true
	}
	for _, endpoint := range newWorld(t, "main").endpoints(t) {
		if !known[endpoint] {
			t.Errorf("the service answers on %s, which is not in the contract", endpoint)
		}
	}
}

func subjectFor(address, tenant string) string {
	return strings.NewReplacer("{tenant}", tenant).Replace(address)
}

func describe(p *principal, operation string, body any) string {
	raw, err := json.Marshal(body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s as %s with %.400s", operation, p.name, raw)
}
