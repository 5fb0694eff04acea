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

// supportAgent is the first of the two principals that ask.
func supportAgent() *schemas.Agent {
	return &schemas.Agent{Type: "user", ID: "support_agent", SecurityLevel: "internal", Groups: []string{"support"}}
}

// riskOfficer is the second, which may see more.
func riskOfficer() *schemas.Agent {
	return &schemas.Agent{Type: "user", ID: "risk_officer", SecurityLevel: "restricted", Groups: []string{"risk", "support"}}
}

const demoBudget = 420

// ask asks as two principals and compares.
func (t *runner) ask(ctx context.Context) error {
	t.say("\nASK     %q — a context of at most %d tokens, for two:", demoQuestion, demoBudget)
	ask := func(agent *schemas.Agent) (*schemas.ResultPayload, error) {
		p, err := t.request(ctx, agent, demoQuestion, schemas.RequestPayload{Query: schemas.Query{Type: schemas.QueryHybrid}, TokenBudget: demoBudget})
		if err == nil {
			t.printPack(agent, p)
		}
		return p, err
	}
	support, err := ask(supportAgent())
	if err != nil {
		return err
	}
	officer, err := ask(riskOfficer())
	if err != nil {
		return err
	}
	known := map[string]bool{} // what the support agent may see, whether it found a place or not
	for i := range support.Results {
		known[support.Results[i].ID] = true
	}
	for _, id := range support.Drop.DroppedItemIDs {
		known[id] = true
	}
	shown := officer.Results
	t.say("        what the risk officer sees, and the support agent may not:")
	slices.SortFunc(shown, func(a, b schemas.ResultItem) int { return cmp.Compare(a.ID, b.ID) })
	for i := range shown {
		if !known[shown[i].ID] {
			t.say("          %s  %s", shown[i].ID, terminal.OneLine(shown[i].Content.Text(), 88))
		}
	}
	return nil
}

// printPack prints a pack in two lines, or whole.
func (t *runner) printPack(who *schemas.Agent, p *schemas.ResultPayload) {
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
	req := schemas.RunRequest{From: riskOfficer(), Task: demoQuestion, Session: "demo", TokenBudget: demoBudget, MinPosition: t.seen}
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
	t.seen = slices.Max(reply.Positions)
	t.context = reply.PackID
	t.tokens = reply.Metrics.TokenActual
	t.say("\nWALK    the risk officer's question through the roles; each line is an entry of the log:")
	for i := range lines {
		t.say("        %4d  %s", lines[i].Position, lines[i].Step())
	}
	t.say("\nANSWER  %s", wrapText(reply.Answer.Text, 88, "        "))
	for _, line := range command.Citations(reply.Answer) {
		t.say("        %s", strings.TrimSpace(line))
	}
	t.say("        checked: %s", wrapText(command.ChecksLine(reply.Checks), 80, "                 "))
	t.say("        kept from the model by safety tag: %s; anomalies: %d", cmp.Or(strings.Join(reply.Withheld, ", "), "nothing"), len(reply.Findings))
	return nil
}

// wrapText breaks a text into lines of at most width bytes and indents all but the first.
func wrapText(text string, width int, indent string) string {
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
