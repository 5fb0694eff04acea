package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"satchel/jetstream"
)

type dlqCmd struct {
	Ls    dlqLsCmd    `cmd:"" help:"List rejected events with the cause."`
	Show  dlqShowCmd  `cmd:"" help:"Print one rejected event whole."`
	Retry dlqRetryCmd `cmd:"" help:"Publish rejected events again and remove them here."`
	Drop  dlqDropCmd  `cmd:"" help:"Remove rejected events for good."`
}

// deadLetters opens the dead letters of the running server.
func (a *app) deadLetters(ctx context.Context) (*jetstream.DeadLetters, func(), error) {
	conn, err := a.dialOperator(ctx)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.Open(ctx, conn.nc)
	if err != nil {
		conn.close()
		return nil, nil, err
	}
	dead, err := jetstream.OpenDeadLetters(ctx, js)
	if err != nil {
		conn.close()
		return nil, nil, err
	}
	return dead, conn.close, nil
}

type dlqLsCmd struct {
	From  uint64 `help:"First sequence."`
	Limit int    `help:"How many." default:"100"`
}

// Help shows how it is called.
func (dlqLsCmd) Help() string {
	return "Examples:\n  satchel dlq ls\n  satchel dlq ls --from 120 --limit 20 --json"
}

// Run lists dead letters.
func (c *dlqLsCmd) Run(ctx context.Context, a *app) error {
	dead, done, err := a.deadLetters(ctx)
	if err != nil {
		return err
	}
	defer done()
	list, err := dead.List(ctx, a.Tenant, c.From, c.Limit)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(append([]jetstream.DeadLetter{}, list...))
	}
	if len(list) == 0 {
		fmt.Fprintln(a.out, "no dead letters")
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "SEQ\tREASON\tPOINTER\tEVENT\tCAUSE")
	for _, l := range list {
		if l.Foreign {
			fmt.Fprintf(w, "%d\tFOREIGN\t\t\tnot written by Satchel; remove it with satchel dlq drop %d\n", l.Seq, l.Seq)
			continue
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", l.Seq, l.Reason, excerpt(l.Pointer, 200), excerpt(l.ID, 200), excerpt(l.Cause, 400))
	}
	return w.Flush()
}

type dlqShowCmd struct {
	Seq uint64 `arg:"" help:"Sequence, from dlq ls."`
}

// Help shows how it is called.
func (dlqShowCmd) Help() string {
	return "Example:\n  satchel dlq show 121"
}

// Run prints one dead letter whole.
func (c *dlqShowCmd) Run(ctx context.Context, a *app) error {
	dead, done, err := a.deadLetters(ctx)
	if err != nil {
		return err
	}
	defer done()
	l, err := dead.Read(ctx, c.Seq)
	if err != nil {
		return noLetter(err)
	}
	if l.Tenant != a.Tenant {
		return usagef("dead letter %d belongs to another tenant", c.Seq)
	}
	if a.JSON {
		return a.printJSON(struct {
			jetstream.DeadLetter
			Header map[string][]string `json:"header"`
			Data   string              `json:"data"`
		}{l, l.Header, string(l.Data)})
	}
	if l.Foreign {
		fmt.Fprintf(a.out, "FOREIGN  not written by Satchel; nothing below can be relied on, remove it with satchel dlq drop %d\n", l.Seq)
	}
	fmt.Fprintf(a.out, "reason   %s\ncause    %s\npointer  %s\nsubject  %s\nat       %s\n\n", l.Reason, excerpt(l.Cause, 2000), orDocument(excerpt(l.Pointer, 2000)), l.Subject, l.At.UTC().Format("2006-01-02T15:04:05Z"))
	for _, name := range sortedKeys(l.Header) {
		for _, v := range l.Header[name] {
			fmt.Fprintf(a.out, "%s: %s\n", name, v)
		}
	}
	_, err = fmt.Fprintf(a.out, "\n%s\n", l.Data)
	return err
}

type dlqRetryCmd struct {
	Seqs []uint64 `arg:"" help:"Sequences, from dlq ls."`
}

// Help shows how it is called.
func (dlqRetryCmd) Help() string {
	return "Example:\n  satchel dlq retry 121 124"
}

// Run publishes dead letters again.
func (c *dlqRetryCmd) Run(ctx context.Context, a *app) error {
	return a.eachLetter(ctx, c.Seqs, "published again; see satchel dlq ls for the outcome", (*jetstream.DeadLetters).Retry)
}

type dlqDropCmd struct {
	Seqs []uint64 `arg:"" help:"Sequences, from dlq ls."`
}

// Help shows how it is called.
func (dlqDropCmd) Help() string {
	return "Example:\n  satchel dlq drop 121 124"
}

// Run removes dead letters.
func (c *dlqDropCmd) Run(ctx context.Context, a *app) error {
	return a.eachLetter(ctx, c.Seqs, "dropped", (*jetstream.DeadLetters).Drop)
}

func (a *app) eachLetter(ctx context.Context, seqs []uint64, done string, do func(*jetstream.DeadLetters, context.Context, uint64) error) error {
	dead, closeConn, err := a.deadLetters(ctx)
	if err != nil {
		return err
	}
	defer closeConn()
	for _, seq := range seqs {
		l, err := dead.Read(ctx, seq)
		if err != nil {
			return noLetter(err)
		}
		if l.Tenant != a.Tenant {
			return usagef("dead letter %d belongs to another tenant", seq)
		}
		if err := do(dead, ctx, seq); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%d %s\n", seq, done)
	}
	return nil
}

func noLetter(err error) error {
	if errors.Is(err, jetstream.ErrNoDeadLetter) {
		return &usageError{err}
	}
	return err
}
