package op_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"satchel/pipeline/op"
	"satchel/pipeline/relevance"
	"satchel/schemas"
)

// openConversation holds twelve turns of the session live, one of them confidential, others dated in the future, a turn of another
// session, and two memories of a category.
func openConversation(t *testing.T) *world {
	t.Helper()
	gate, err := relevance.New(relevance.Config{})
	must(t, err)
	w := openWorld(t, func(c *op.Config) { c.Relevance = gate })
	item := func(id, text string, at time.Duration, change func(*schemas.MemoryItem)) schemas.MemoryItem {
		m := schemas.MemoryItem{ID: id, Kind: schemas.KindMemory, Type: schemas.Episodic, CreatedAt: day.Add(at), Scope: schemas.MemoryScope{Tenant: "acme"},
			SecurityLabel: []string{"level:internal"}, Content: schemas.TextContent(text)}
		change(&m)
		return m
	}
	var list []schemas.MemoryItem
	for i := range 12 {
		list = append(list, item(fmt.Sprintf("turn-%02d", i), fmt.Sprintf("Plan number %d is called Zebra %d.", i, i), time.Duration(i)*time.Minute, func(m *schemas.MemoryItem) {
			m.Scope.Session, m.Seq = "live", int64(i+1)
			if i == 11 {
				m.SecurityLabel = []string{"level:confidential"}
			}
		}))
	}
	for i := range 24 {
		list = append(list, item(fmt.Sprint("future", i), "Fine.", 73*365*24*time.Hour, func(m *schemas.MemoryItem) { m.Scope.Session = "live" }))
	}
	list = append(list,
		item("other", "Plan number 99 is called Zebra 99.", time.Hour, func(m *schemas.MemoryItem) { m.Scope.Session = "other" }),
		item("style", "Answers are short.", 0, func(m *schemas.MemoryItem) { m.Category = "communication_style" }),
		item("style-long", strings.Repeat("Answers are long and winding. ", 60), -time.Hour, func(m *schemas.MemoryItem) { m.Category = "communication_style" }))
	w.put(t, "acme", list...)
	return w
}

func askLive(w *world, t *testing.T, change func(*schemas.RequestPayload)) schemas.ResultPayload {
	t.Helper()
	req := ask("What comes next?")
	req.Payload.Session, req.Payload.Repeat = "live", schemas.RepeatFull
	change(&req.Payload)
	res, err := w.engine.Context(context.Background(), as(t, "acme", schemas.Internal), req)
	must(t, err)
	return res.Payload
}

func shownIDs(p schemas.ResultPayload) []string {
	var ids []string
	for _, r := range p.Results {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestTheLastTurnsOfTheSessionAreGiven(t *testing.T) {
	t.Parallel()
	w := openConversation(t)
	p := askLive(w, t, func(p *schemas.RequestPayload) {
		p.Relevance = &schemas.RelevanceRequest{Mode: "ACKNOWLEDGE", Signals: map[string]any{"working_memory_turns": 3}}
	})
	want := []string{"turn-03", "turn-04", "turn-05", "turn-06", "turn-07", "turn-08", "turn-09", "turn-10"} // the newest is hidden
	got := slices.DeleteFunc(shownIDs(p), func(id string) bool { return !strings.HasPrefix(id, "turn-") })
	if slices.Sort(got); !slices.Equal(want, got) {
		t.Errorf("given %v, want %v", got, want)
	}
	at, last := strings.Index(p.Text, "## This conversation"), -1
	for _, id := range want {
		name := "Zebra " + strings.TrimLeft(strings.TrimPrefix(id, "turn-"), "0")
		if place := strings.Index(p.Text, name); at < 0 || place < max(at, last) {
			t.Errorf("%s is not in its order under its heading:\n%s", name, p.Text)
		} else {
			last = place
		}
	}
	if slices.Contains(shownIDs(p), "other") || len(p.Sources) > 0 {
		t.Errorf("shown %v, searched %v", shownIDs(p), p.Sources)
	}
	if ids := shownIDs(p); !slices.Contains(ids, "style") || slices.Contains(ids, "style-long") {
		t.Errorf("of a node its newest items within its estimate are given, shown %v", ids)
	}
}

func TestWhatIsGivenKeepsToTheRequest(t *testing.T) {
	t.Parallel()
	w := openConversation(t)
	for name, c := range map[string]struct {
		change func(*schemas.RequestPayload)
		given  bool
	}{
		"without relevance": {func(*schemas.RequestPayload) {}, true},
		"no session":        {func(p *schemas.RequestPayload) { p.Session = "" }, false},
		"a strange session": {func(p *schemas.RequestPayload) { p.Session = "strange" }, false},
		"filters":           {func(p *schemas.RequestPayload) { p.Query.Filters = map[string]any{"session": "other"} }, false},
		"a floor":           {func(p *schemas.RequestPayload) { p.MinScore = 1 }, true},
		"as of": {func(p *schemas.RequestPayload) {
			p.AsOf, p.MinScore = 2, 1
		}, false},
	} {
		p := askLive(w, t, c.change)
		if got := strings.Contains(p.Text, "## This conversation") && slices.Contains(shownIDs(p), "turn-10"); got != c.given {
			t.Errorf("%s: given: %t\n%s", name, got, p.Text)
		}
	}
}

// The budget is what the included nodes are estimated at; fill has the rest as well.
func TestTheBudgetIsWhatTheNodesNeed(t *testing.T) {
	t.Parallel()
	w := openConversation(t)
	for fill, want := range map[bool][2]int{false: {300, 1300}, true: {3000, 3000}} {
		p := askLive(w, t, func(p *schemas.RequestPayload) {
			p.TokenBudget = 3000
			p.Relevance = &schemas.RelevanceRequest{Mode: "ACKNOWLEDGE", Fill: fill}
		})
		if got := p.Pack.TokenBudget; got < want[0] || got > want[1] || p.Pack.TokenActual > got {
			t.Errorf("fill %t: the budget is %d, taken %d", fill, got, p.Pack.TokenActual)
		}
	}
}
