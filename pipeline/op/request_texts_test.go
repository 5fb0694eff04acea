package op_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"satchel/schemas"
)

// numbered is a text of n words that ends with what must not be lost.
func numbered(word string, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("%s%d", word, i)
	}
	return strings.Join(words, " ") + " but never delete the table orders_2024"
}

// lostOf returns the drop of a field of the request, nil for none.
func lostOf(p *schemas.ResultPayload, field string) *schemas.Drop {
	at := slices.IndexFunc(p.Drop.Drops, func(d schemas.Drop) bool { return d.ItemID == field })
	if at < 0 {
		return nil
	}
	return &p.Drop.Drops[at]
}

// Memory gives way to the task and the user's message.
func TestTaskAndMessageStayWholeWhileMemoryCanGiveWay(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	w.put(t, "acme", variety(300, rand.New(rand.NewPCG(3, 4)))...)
	for _, budget := range []int{1000, 2000, 4000} {
		for _, c := range []struct{ task, message int }{{budget / 7, 0}, {0, budget / 7}, {budget / 8, budget / 8}, {5, budget / 5}, {budget / 5, 5}} {
			req := ask("why did the gateway certificate expire?")
			req.Payload.TokenBudget, req.Payload.Task, req.Payload.UserMessage = budget, numbered("t", c.task), numbered("u", c.message)
			res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), req)
			must(t, err)
			p := &res.Payload
			if !strings.Contains(p.Text, req.Payload.Task+"\n") || !strings.Contains(p.Text, req.Payload.UserMessage+"\n") {
				t.Errorf("budget %d, %+v: a text is cut:\n%s", budget, c, p.Text)
			}
			if lostOf(p, schemas.DropTask) != nil || lostOf(p, schemas.DropUserMessage) != nil || p.Pack.TokenActual > budget || len(p.Results) == 0 {
				t.Errorf("budget %d, %+v: %d tokens, %d items, drops %+v", budget, c, p.Pack.TokenActual, len(p.Results), p.Drop.Drops[:1])
			}
		}
	}
}

// What the budget has no room for is named byte for byte, and said in a warning.
func TestWhatIsCutOfTheRequestIsNamed(t *testing.T) {
	t.Parallel()
	w := openWorld(t, nil)
	w.put(t, "acme", variety(100, rand.New(rand.NewPCG(3, 4)))...)
	long, short := numbered("t", 400), "Find the cause, and restart nothing."
	for name, c := range map[string]struct {
		budget        int
		task, message string
		cut           []string
	}{
		"task":                      {400, long, short, []string{schemas.DropTask}},
		"message":                   {400, short, long, []string{schemas.DropUserMessage}},
		"both":                      {400, long, long, []string{schemas.DropTask, schemas.DropUserMessage}},
		"no spaces":                 {400, strings.Repeat("数据库今天不能访问", 200), short, []string{schemas.DropTask}},
		"lines":                     {400, strings.Repeat("# one\n[2] two\n", 200), short, []string{schemas.DropTask}},
		"nothing of it fits":        {30, long, "", []string{schemas.DropTask}},
		"not even the message fits": {12, "", long, []string{schemas.DropUserMessage}},
		"the preamble gives way":    {24, "", short, nil},
	} {
		req := ask("why did the gateway certificate expire?")
		req.Payload.TokenBudget, req.Payload.Task, req.Payload.UserMessage = c.budget, c.task, c.message
		res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), req)
		must(t, err)
		p := &res.Payload
		tokens := 0
		for i := range p.Drop.Drops {
			tokens += p.Drop.Drops[i].Tokens
		}
		if p.Pack.TokenActual > c.budget || tokens != p.Drop.TokenSavings {
			t.Errorf("%s: %d tokens of %d, drops save %d of %d", name, p.Pack.TokenActual, c.budget, tokens, p.Drop.TokenSavings)
		}
		for field, text := range map[string]string{schemas.DropTask: c.task, schemas.DropUserMessage: c.message} {
			d := lostOf(p, field)
			warned := slices.ContainsFunc(p.Explainability.Warnings, func(s string) bool { return strings.Contains(s, field+" is cut") })
			if !slices.Contains(c.cut, field) {
				if d != nil || warned || text != "" && !strings.Contains(p.Text, text+"\n") {
					t.Errorf("%s: %s, drop %+v, warned %v:\n%s", name, field, d, warned, p.Text)
				}
				continue
			}
			if d == nil || d.Span == nil || d.Span.End != len(text) || d.Reason != schemas.DropBudget || d.Tokens <= 0 || !warned {
				t.Fatalf("%s: %s, drop %+v, warned %v: %q", name, field, d, warned, p.Explainability.Warnings)
			}
			if slices.Contains(p.Drop.DroppedItemIDs, field) {
				t.Errorf("%s: %s is named as an item", name, field)
			}
			lines := strings.Split(strings.TrimSpace(text[:d.Span.Start]), "\n")
			if last := lines[len(lines)-1]; d.Span.Start > 0 && !strings.Contains(p.Text, last+"…\n") || d.Span.Start == 0 && strings.Contains(p.Text, text[:16]) {
				t.Errorf("%s: %s is shown to %d, and the text is:\n%s", name, field, d.Span.Start, p.Text)
			}
		}
	}
}
