package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
	"satchel/cmd/internal/terminal"
	"satchel/emitters"
	"satchel/jetstream"
	"satchel/schemas"
)

// Ledger is satchel ledger.
type Ledger struct {
	Follow bool     `short:"f" help:"Go on with what comes."`
	Kind   []string `help:"Only these kinds: memory, pack, drop, decision, artifact, handover, exception, hold, erasure, refusal, checkpoint."`
	After  int64    `help:"Only entries after this log position."`
	Verify bool     `help:"Check each entry's inclusion in the signed head."`
}

// LedgerLine is one printed entry.
type LedgerLine struct {
	Position int64           `json:"position"`
	Kind     string          `json:"kind"`
	Agent    string          `json:"agent"`
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Subject  string          `json:"subject"`
	Data     json.RawMessage `json:"data,omitempty"`
	Gap      *emitters.Gap   `json:"gap,omitempty"`
	Proved   *bool           `json:"proved,omitempty"`

	at time.Time // of the event
}

func newLedgerLine(l emitters.LedgerEvent) LedgerLine {
	line := LedgerLine{Position: l.Position, Kind: string(l.Kind), Agent: l.Agent, Gap: l.Gap}
	if l.Gap == nil {
		line.Type, line.ID, line.Subject, line.Data, line.at = l.Event.Type(), l.Event.ID(), l.Event.Subject(), l.Event.Data(), l.Event.Time()
	}
	return line
}

// Run prints the ledger.
func (c *Ledger) Run(ctx context.Context, a *app.App) error {
	opts := emitters.FollowOptions{After: c.After, Once: !c.Follow}
	for _, k := range c.Kind {
		if !slices.Contains(jetstream.LedgerKinds(), schemas.LedgerKind(k)) {
			return config.Usagef("--kind %q: the kinds are memory, pack, drop, decision, artifact, handover, exception, hold, erasure, refusal and checkpoint", k)
		}
		opts.Kinds = append(opts.Kinds, schemas.LedgerKind(k))
	}
	conn, e, err := dialEmitter(ctx, a, emitters.Config{Agent: "cli"})
	if err != nil {
		return err
	}
	defer conn.Close()
	var check *ProofChecker
	if c.Verify {
		if check, err = NewProofChecker(ctx, conn); err != nil {
			return err
		}
	}
	var end LedgerEnd
	if !c.Follow {
		if end, err = conn.LedgerCatchesUp(ctx); err != nil {
			return err
		}
	}
	unproved := 0
	foreign := 0
	seen := 0
	err = e.FollowLedger(ctx, opts, func(l emitters.LedgerEvent) error {
		seen++
		line := newLedgerLine(l)
		if l.Gap != nil && l.Gap.Foreign > 0 {
			foreign++
		}
		if l.Gap == nil && check != nil {
			ok, err := check.Included(ctx, l)
			if err != nil {
				return err
			}
			line.Proved = &ok
			if !ok {
				unproved++
			}
		}
		return printLedger(a, line)
	})
	if err != nil && !(errors.Is(err, context.Canceled) && c.Follow) {
		return err
	}
	if seen == 0 && !c.Follow {
		why := ""
		switch {
		case end.Logged > 0 && end.Passed:
			why = " any more: it is a window, and others have written since; satchel verify reads the log"
		case end.Logged == 0:
			why = ": nothing was ever recorded there"
		}
		fmt.Fprintf(a.Err, "the ledger of tenant %q has no such entries%s\n", a.Tenant, why)
	}
	if c.Verify && unproved+foreign > 0 {
		return &FoundError{What: fmt.Sprintf("%d entries could not be proved, %s not published by Satchel", unproved, terminal.Plural(foreign, "message was", "messages were"))}
	}
	return nil
}

func printLedger(a *app.App, line LedgerLine) error {
	if a.JSON {
		return printJSONLine(a, line)
	}
	if line.Gap != nil && line.Gap.Foreign > 0 {
		_, err := fmt.Fprintf(a.Out, "%6s  FOREIGN: message at sequence %d of the stream is not Satchel's\n", "", line.Gap.Foreign)
		return err
	}
	if line.Gap != nil {
		_, err := fmt.Fprintf(a.Out, "%6s  gap: entries %d to %d are no longer in the stream; the log has them\n", "", line.Gap.From, line.Gap.To)
		return err
	}
	proved := ""
	if line.Proved != nil {
		proved = map[bool]string{true: "  proved", false: "  NOT PROVED"}[*line.Proved]
	}
	noun := strings.TrimSuffix(strings.TrimPrefix(line.Type, "io.satchel."), ".v1")
	_, err := fmt.Fprintf(a.Out, "%6d  %s  %-10s %-18s %s%s\n", line.Position, line.at.UTC().Format("2006-01-02T15:04:05Z"), line.Kind, noun, line.about(), proved)
	return err
}

// warnUnused says so when the tenant has no memory at all, as one is that is misspelt.
func warnUnused(ctx context.Context, a *app.App) error {
	conn, e, err := dialEmitter(ctx, a, emitters.Config{Agent: "cli"})
	if err != nil {
		return err
	}
	defer conn.Close()
	end, err := conn.LedgerCatchesUp(ctx)
	if err != nil || end.Passed && end.Logged > 0 {
		return err
	}
	used := false // by more than questions; a gap is of what has gone from the window or was erased
	err = e.FollowLedger(ctx, emitters.FollowOptions{Once: true}, func(l emitters.LedgerEvent) error {
		used = l.Gap != nil && l.Gap.Foreign == 0 || l.Kind == schemas.LedgerMemory
		if used {
			return emitters.ErrStop
		}
		return nil
	})
	switch {
	case err != nil:
		a.Logger(a.Err).Debug("cannot say whether the tenant has memories", "error", err)
		return ctx.Err()
	case !used:
		printWarnings(a, []string{fmt.Sprintf("tenant %q is empty: nothing was ever recorded there", a.Tenant)})
	}
	return nil
}

// about says what an entry is about: the subject, with the figures of a pack, the items
// of an erasure, the path of an exception and the id of a hold.
func (l *LedgerLine) about() string {
	switch schemas.LedgerKind(l.Kind) {
	case schemas.LedgerPack:
		var pack schemas.ContextPack
		if json.Unmarshal(l.Data, &pack) != nil || pack.ID == "" {
			break
		}
		items := 0
		for _, section := range pack.Sections {
			items += len(section.Items)
		}
		return fmt.Sprintf("%s for %s, %s, %s", pack.ID, pack.Principal, terminal.Plural(items, "item", "items"), terminal.Plural(pack.TokenActual, "token", "tokens"))
	case schemas.LedgerException:
		var x schemas.GovernedException
		if json.Unmarshal(l.Data, &x) == nil && x.ID != "" {
			return x.ID + " " + x.Path
		}
	case schemas.LedgerHold:
		var h schemas.LegalHold
		if json.Unmarshal(l.Data, &h) == nil && h.ID != "" {
			return h.ID
		}
	case schemas.LedgerErasure:
		var erased schemas.LedgerReference
		if json.Unmarshal(l.Data, &erased) != nil || len(erased.Items) == 0 {
			break
		}
		if erased.Receipt == nil {
			return "request: " + strings.Join(erased.Items, ", ")
		}
		return "receipt: " + strings.Join(erased.Items, ", ")
	}
	return l.Subject
}
