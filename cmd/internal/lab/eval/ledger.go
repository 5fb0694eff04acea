package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/command"
	"satchel/cmd/internal/lab/measure"
)

// accounts holds every pack of the sets to account and prints one table.
func (c *Eval) accounts(ctx context.Context, a *app.App, sets []string) error {
	var lines []measure.Accounts
	for _, name := range sets {
		if measure.HasSpans(c.From, name) {
			continue // texts, of which no packs are made
		}
		more, err := c.accountsOf(ctx, a, name)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	if a.JSON {
		if err := command.PrintJSON(a, lines); err != nil {
			return err
		}
	} else if err := printAccounts(a.Out, lines); err != nil {
		return err
	}
	for i := range lines {
		if l := &lines[i]; l.Failed != "" {
			return &command.FoundError{What: fmt.Sprintf("packs of set %s at %d tokens are over or do not account for everything, the first of query %q", l.Set, l.Budget, l.Failed)}
		}
	}
	return nil
}

func (c *Eval) accountsOf(ctx context.Context, a *app.App, name string) (lines []measure.Accounts, err error) {
	set, sys, done, err := c.open(ctx, a, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	bar := a.Progress(name + ": asking")
	defer bar.End()
	return measure.Ledger(ctx, set, sys, c.Budget, func(done, total int) { bar.Set(int64(done), int64(total)) })
}

func printAccounts(w io.Writer, lines []measure.Accounts) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "set\tbudget\tpacks\tover\tlost\tin part\tremoved\tnamed\tdrops named\tcited\tresolved\tcites\t")
	all := measure.Accounts{Set: "all"}
	for i := range lines {
		l := &lines[i]
		printAccount(tw, l, fmt.Sprint(l.Budget))
		all.Packs = all.Packs + l.Packs
		all.Over = all.Over + l.Over
		all.Lost = all.Lost + l.Lost
		all.Account.Add(l.Account)
	}
	printAccount(tw, &all, "")
	return tw.Flush()
}

func printAccount(w io.Writer, l *measure.Accounts, budget string) {
	c := l.Account
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%s\t\n", l.Set, budget, l.Packs, l.Over, l.Lost, c.Parts, c.Removed, c.Named,
		percent(c.Coverage()), c.Cited, c.Resolved, percent(c.Citations()))
}
