package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/schemas"
)

// Memory gives way to the task. What the budget has no room for is said, and named byte for byte.
func TestATaskIsWholeOrWhatIsMissingIsNamedOnANode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for i := range 12 {
		n.must(t, "emit", "--wait", "indexed", "--text", fmt.Sprintf("Table orders, note %d: %s.", i, strings.Repeat(fmt.Sprintf("the clean-up of the table orders moved row %d ", i*7), 9)))
	}
	nc := n.connect(t)
	ask := func(budget, words int, message string) (p schemas.ResultPayload, task string) {
		t.Helper()
		for i := range words {
			task += fmt.Sprintf("t%d ", i)
		}
		task += "but never delete the table orders_2024"
		m, err := nc.Request("ctx.v1.main.request", fmt.Appendf(nil, `{"meta":{"type":"ContextRequest","from":{"id":"cli","securityLevel":"internal"}},
			"payload":{"query":{"text":"what did the clean-up of the table orders move?"},"token_budget":%d,"task":%q,"user_message":%q}}`, budget, task, message), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var res schemas.ContextResult
		if err := json.Unmarshal(m.Data, &res); err != nil || res.Payload.PackID == "" {
			t.Fatalf("%v: %s", err, m.Data)
		}
		return res.Payload, task
	}
	for _, budget := range []int{1000, 2000, 4000} {
		p, task := ask(budget, budget*15/100, "Hi, database down!")
		if !strings.Contains(p.Text, task+"\n") || !strings.Contains(p.Text, "Hi, database down!\n") || len(p.Results) == 0 || p.Pack.TokenActual > budget {
			t.Errorf("budget %d, %d tokens, %d items:\n%s", budget, p.Pack.TokenActual, len(p.Results), p.Text)
		}
	}
	p, task := ask(300, 400, "go on")
	at := slices.IndexFunc(p.Drop.Drops, func(d schemas.Drop) bool { return d.ItemID == schemas.DropTask })
	if at < 0 || p.Pack.TokenActual > 300 || !strings.Contains(strings.Join(p.Explainability.Warnings, "\n"), "/payload/task is cut") {
		t.Fatalf("%d tokens, warnings %q, drops %+v", p.Pack.TokenActual, p.Explainability.Warnings, p.Drop.Drops)
	}
	if s := p.Drop.Drops[at].Span; s == nil || s.End != len(task) || !strings.Contains(p.Text, task[:s.Start]+"…\n") {
		t.Errorf("span %+v of %d bytes, text:\n%s", s, len(task), p.Text)
	}
	out := n.must(t, "dropped", p.PackID)
	contains(t, "what the pack left out", out, fmt.Sprintf("/payload/task:%d-%d", p.Drop.Drops[at].Span.Start, len(task)))
}
