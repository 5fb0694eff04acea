package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/emitters"
	"satchel/schemas"
)

// Trace is satchel trace.
type Trace struct {
	Request string `arg:"" help:"Request id of a run, as satchel answer prints it, or of any other request; or the id of a pack."`
}

// Run prints the trace.
func (c *Trace) Run(ctx context.Context, a *app.App) error {
	if !schemas.ValidID(c.Request) {
		return config.Usagef("request %q: must be 1 to 128 of the characters A-Z a-z 0-9 . _ : -", c.Request)
	}
	conn, e, err := dialEmitter(ctx, a, emitters.Config{Agent: "cli"})
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.LedgerCatchesUp(ctx); err != nil {
		return err
	}
	lines, err := TraceOf(ctx, e, c.Request, 0)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return config.Usagef("the ledger of tenant %s has nothing of request %s", a.Tenant, c.Request)
	}
	return PrintReply(a, lines, func(w io.Writer) { printTrace(w, lines) })
}

// TraceOf reads what a request, or that of a pack, left in the ledger, up to the log position upTo; 0: all
// that is there.
func TraceOf(ctx context.Context, e *emitters.Emitter, request string, upTo int64) ([]LedgerLine, error) {
	var lines []LedgerLine
	of := "" // the request of the pack that has this id
	kinds := []schemas.LedgerKind{schemas.LedgerHandover, schemas.LedgerPack, schemas.LedgerDrop, schemas.LedgerDecision,
		schemas.LedgerArtifact, schemas.LedgerException, schemas.LedgerRefusal}
	err := e.FollowLedger(ctx, emitters.FollowOptions{Kinds: kinds, Once: upTo == 0}, func(l emitters.LedgerEvent) error {
		if l.Event.Subject() == request {
			lines = append(lines, newLedgerLine(l))
		}
		if l.Kind == schemas.LedgerPack && l.Event.ID() == request {
			of = l.Event.Subject()
		}
		if upTo > 0 && l.Position >= upTo {
			return emitters.ErrStop
		}
		return nil
	})
	if err == nil && len(lines) == 0 && of != "" {
		return TraceOf(ctx, e, of, upTo)
	}
	return lines, err
}

// printTrace prints for whom it was, and one line an entry. What another principal has
// asked for under the same id is marked.
func printTrace(w io.Writer, lines []LedgerLine) {
	begun := lines[0].at
	whose := ownerOf(lines)
	fmt.Fprintf(w, "principal %s\n", whose)
	for i := range lines {
		l := &lines[i]
		fmt.Fprintf(w, "%6d  +%-7s %s", l.Position, l.at.Sub(begun).Round(100*time.Microsecond), l.Step())
		if who := l.principal(); who != "" && who != whose {
			fmt.Fprintf(w, "; NOT OF THIS RUN: principal %s", who)
		}
		fmt.Fprintln(w)
	}
}

// ownerOf is the principal of a run's first hand-over; without any, of the first entry.
func ownerOf(lines []LedgerLine) string {
	for i := range lines {
		if lines[i].Type == schemas.TypeRoleHandedOver {
			return lines[i].principal()
		}
	}
	return lines[0].principal()
}

// principal is for whom an entry was written; "" when it does not say.
func (l *LedgerLine) principal() string {
	var d struct {
		Principal string `json:"principal"`
	}
	if json.Unmarshal(l.Data, &d) != nil {
		return ""
	}
	return d.Principal
}

// Step says what an entry of a run means.
func (l *LedgerLine) Step() string {
	switch l.Type {
	case schemas.TypeRoleHandedOver:
		var h schemas.Handover
		if json.Unmarshal(l.Data, &h) == nil && h.From != "" {
			return fmt.Sprintf("%-11s → %-11s  %s", h.From, h.To, handoverFacts(&h))
		}
	case schemas.TypeContextPacked:
		return fmt.Sprintf("%-11s   %-11s  pack %s", "", "", l.about())
	case schemas.TypeContextDropped:
		var d schemas.DropReport
		if json.Unmarshal(l.Data, &d) == nil {
			return fmt.Sprintf("%-11s   %-11s  drop report: %s, %s saved", "", "", terminal.Plural(len(d.Drops), "item", "items"), terminal.Plural(d.TokenSavings, "token", "tokens"))
		}
	case schemas.TypePolicyDecided:
		var d schemas.PolicyDecision
		if json.Unmarshal(l.Data, &d) == nil {
			return fmt.Sprintf("%-11s   %-11s  decision: %s by policy %s", "", "", terminal.Plural(len(d.Verdicts), "verdict", "verdicts"), d.Revision)
		}
	case schemas.TypeExceptionUsed:
		var x schemas.GovernedException
		if json.Unmarshal(l.Data, &x) == nil {
			return fmt.Sprintf("%-11s   %-11s  exception %s used: %s, owner %s", "", "", x.ID, x.Path, x.Owner)
		}
	}
	noun := strings.TrimSuffix(strings.TrimPrefix(l.Type, "io.satchel."), ".v1")
	return fmt.Sprintf("%-11s   %-11s  %s %s", "", "", noun, l.ID)
}

// handoverFacts is what a hand-over says in figures.
func handoverFacts(h *schemas.Handover) string {
	var parts []string
	if h.Steps > 0 {
		parts = append(parts, terminal.Plural(h.Steps, "step", "steps"))
	}
	if h.Invocation != nil && h.From == "synthesizer" {
		parts = append(parts, fmt.Sprintf("%s, %s cited, %d tokens in (the payload as JSON: task, plan, snippets), %d out", h.Invocation.Model, terminal.Plural(len(h.Cited), "item", "items"), h.Invocation.PromptTokens, h.Invocation.AnswerTokens))
	}
	held := 0
	failed := []string{}
	for _, c := range h.Checks {
		held++
		if !c.OK {
			failed = append(failed, c.Name)
		}
	}
	switch {
	case len(failed) > 0:
		parts = append(parts, "FAILED "+strings.Join(failed, ", "))
	case held > 0:
		parts = append(parts, terminal.Plural(held, "check holds", "checks hold"))
	}
	if h.From == "retriever" {
		parts = append(parts, "context "+h.PackID)
	}
	if h.From == "sentinel" {
		parts = append(parts, terminal.Plural(len(h.Findings), "anomaly", "anomalies"))
	}
	if h.External {
		parts = append(parts, "played elsewhere")
	}
	return strings.Join(parts, "; ")
}
