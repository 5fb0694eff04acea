package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"satchel/cmd/satchel/internal/eval"
)

// accounts holds every pack of the sets to account and prints one table.
func (c *evalCmd) accounts(ctx context.Context, a *app, sets []string) error {
	var lines []eval.Accounts
	for _, name := range sets {
		if eval.HasSpans(c.From, name) {
			continue // texts, of which no packs are made
		}
		more, err := c.accountsOf(ctx, a, name)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	if a.JSON {
		if err := a.printJSON(lines); err != nil {
			return err
		}
	} else if err := printAccounts(a.out, lines); err != nil {
		return err
	}
	for i := range lines {
		if l := &lines[i]; l.Failed != "" {
			return &foundError{fmt.Sprintf("packs of set %s at %d tokens are over or do not account for everything, the first of query %q", l.Set, l.Budget, l.Failed)}
		}
	}
	return nil
}

func (c *evalCmd) accountsOf(ctx context.Context, a *app, name string) (lines []eval.Accounts, err error) {
	set, sys, done, err := c.open(ctx, a, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	bar := a.bar(name + ": asking")
	defer bar.end()
	return eval.Ledger(ctx, set, sys, c.Budget, func(done, total int) { bar.set(int64(done), int64(total)) })
}

func printAccounts(w io.Writer, lines []eval.Accounts) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "set\tbudget\tpacks\tover\tlost\tin part\tremoved\tnamed\tdrops named\tcited\tresolved\tcites\t")
	all := eval.Accounts{Set: "all"}
	for i := range lines {
		l := &lines[i]
		printAccount(tw, l, fmt.Sprint(l.Budget))
		all.Packs, all.Over, all.Lost = all.Packs+l.Packs, all.Over+l.Over, all.Lost+l.Lost
		all.Account.Add(l.Account)
	}
	printAccount(tw, &all, "")
	return tw.Flush()
}

func printAccount(w io.Writer, l *eval.Accounts, budget string) {
	c := l.Account
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%s\t\n", l.Set, budget, l.Packs, l.Over, l.Lost, c.Parts, c.Removed, c.Named,
		percent(c.Coverage()), c.Cited, c.Resolved, percent(c.Citations()))
}
