package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"satchel/cmd/internal/command"
	"satchel/cmd/internal/terminal"
	"satchel/schemas"
)

// demoAsker is one of the two who ask.
type demoAsker struct {
	agent schemas.Agent
	shown map[string]string // item → content
	known map[string]bool   // what it may see, whether it found a place or not
}

func demoAskers() []demoAsker {
	return []demoAsker{
		{agent: schemas.Agent{Type: "user", ID: "support_agent", SecurityLevel: "internal", Groups: []string{"support"}}},
		{agent: schemas.Agent{Type: "user", ID: "risk_officer", SecurityLevel: "restricted", Groups: []string{"risk", "support"}}},
	}
}

const demoBudget = 420

// ask asks as two principals and compares.
func (t *runner) ask(ctx context.Context) error {
	askers := demoAskers()
	t.say("\nASK     %q — a context of at most %d tokens, for two:", demoQuestion, demoBudget)
	for i := range askers {
		a := &askers[i]
		req := schemas.ContextRequest{Meta: schemas.Meta{Type: schemas.MessageContextRequest, From: &a.agent}, Payload: schemas.RequestPayload{
			Query: schemas.Query{Type: schemas.QueryHybrid, Text: demoQuestion}, TokenBudget: demoBudget, MinPosition: t.seen}}
		res, err := t.client.Ask(ctx, req)
		if err != nil {
			return err
		}
		t.seen = res.Payload.Positions.Decision // the pack before counts as a use of what it showed
		a.shown, a.known = map[string]string{}, map[string]bool{}
		for _, item := range res.Payload.Results {
			a.shown[item.ID], a.known[item.ID] = item.Content.Text(), true
		}
		for _, id := range res.Payload.Drop.DroppedItemIDs {
			a.known[id] = true
		}
		t.pack(&a.agent, &res.Payload)
	}
	t.say("        what the risk officer sees, and the support agent may not:")
	for _, id := range slices.Sorted(maps.Keys(askers[1].shown)) {
		if !askers[0].known[id] {
			t.say("          %s  %s", id, terminal.OneLine(askers[1].shown[id], 88))
		}
	}
	return nil
}

// pack prints a pack in two lines, or whole.
func (t *runner) pack(who *schemas.Agent, p *schemas.ResultPayload) {
	if t.verbose {
		t.say("\n── as %s (clearance %s, groups %s) %s", who.ID, who.SecurityLevel, strings.Join(who.Groups, ", "), strings.Repeat("─", 20))
		command.PrintResult(t.Out, p, false)
		t.say("")
		return
	}
	reasons := map[schemas.DropReason]int{}
	for i := range p.Drop.Drops {
		reasons[p.Drop.Drops[i].Reason]++
	}
	var left []string
	for _, r := range slices.Sorted(maps.Keys(reasons)) {
		left = append(left, fmt.Sprintf("%d %s", reasons[r], strings.ReplaceAll(string(r), "_", " ")))
	}
	for _, r := range slices.Sorted(maps.Keys(p.Drop.Denied)) {
		left = append(left, fmt.Sprintf("%d denied by policy (%s)", p.Drop.Denied[r], strings.ReplaceAll(r, "_", " ")))
	}
	t.say("        %-13s %-10s  %s, %d tokens, by %s; left out: %s", who.ID, who.SecurityLevel, terminal.Plural(len(p.Results), "item", "items"),
		p.Pack.TokenActual, strings.Join(p.Sources, ", "), strings.Join(left, ", "))
}

// walk has the roles answer, and prints the run's trace from the ledger.
func (t *runner) walk(ctx context.Context) error {
	officer := demoAskers()[1].agent
	req := schemas.RunRequest{From: &officer, Task: demoQuestion, Session: "demo", TokenBudget: demoBudget, MinPosition: t.seen}
	var reply schemas.RunReply
	if err := t.client.Context(ctx, "run", &req, &reply); err != nil {
		return err
	}
	e, err := t.emitter(nil)
	if err != nil {
		return err
	}
	lines, err := command.TraceOf(ctx, e, reply.RequestID, slices.Max(reply.Positions))
	if err != nil {
		return err
	}
	t.seen, t.context, t.tokens = slices.Max(reply.Positions), reply.PackID, reply.Metrics.TokenActual
	t.say("\nWALK    the risk officer's question through the roles; each line is an entry of the log:")
	for i := range lines {
		t.say("        %4d  %s", lines[i].Position, lines[i].Step())
	}
	t.say("\nANSWER  %s", wrapped(reply.Answer.Text, 88, "        "))
	for _, line := range command.Citations(reply.Answer) {
		t.say("        %s", strings.TrimSpace(line))
	}
	t.say("        checked: %s", wrapped(command.ChecksLine(reply.Checks), 80, "                 "))
	t.say("        kept from the model by safety tag: %s; anomalies: %d", cmp.Or(strings.Join(reply.Withheld, ", "), "nothing"), len(reply.Findings))
	return nil
}

// wrapped breaks a text into lines of at most width bytes and indents all but the first.
func wrapped(text string, width int, indent string) string {
	var b strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case length+1+len(word) > width:
			b.WriteString("\n" + indent)
			length = -1
		default:
			b.WriteByte(' ')
		}
		b.WriteString(word)
		length += 1 + len(word)
	}
	return b.String()
}
